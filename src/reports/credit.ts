import { type Amounts, amountNames } from './journey.ts';
import type { LostLabels } from './lost-paths.ts';
import { creditShares, MarkovChain } from './markov.ts';
import { type AttributionModel, type LabelledPath, weightsOf } from './model.ts';

/** A path and its outcome. A path is empty if the visitor is unknown or had no touch. */
export interface CreditedPath {
	readonly path: LabelledPath;
	/** The number of subscriptions; several if paths are equal. */
	readonly conversions: number;
	readonly amounts: Amounts;
}

/** The credit of each label, by the names of amounts; the last element is for empty paths. Not rounded to pence. */
export type Credit = Readonly<Record<(typeof amountNames)[number], Float64Array>>;

/**
 * Splits the outcomes of paths between the labels of their touches.
 * @param paths in an order independent of how they were read, so that sums are equal to the last digit
 */
export function creditOf(
	model: AttributionModel,
	paths: readonly CreditedPath[],
	lost: readonly LostLabels[],
	{ labels, halfLifeDays }: { readonly labels: number; readonly halfLifeDays?: number },
): Credit {
	const credit: Credit = {
		subscriptions: new Float64Array(labels + 1),
		acquisitionPence: new Float64Array(labels + 1),
		renewalPence: new Float64Array(labels + 1),
		refundPence: new Float64Array(labels + 1),
	};
	const add = (label: number, weight: number, amounts: Amounts) => {
		// Written out: in a loop over the names it takes five times as long.
		(credit.subscriptions[label] as number) += weight * amounts.subscriptions;
		(credit.acquisitionPence[label] as number) += weight * amounts.acquisitionPence;
		(credit.renewalPence[label] as number) += weight * amounts.renewalPence;
		(credit.refundPence[label] as number) += weight * amounts.refundPence;
	};
	const shares = model === 'markov' ? markovShares(paths, lost, labels) : undefined;
	for (const { path, amounts } of paths) {
		if (path.labels.length === 0) add(labels, 1, amounts);
		else if (model !== 'markov') {
			const weights = weightsOf(model, path, halfLifeDays);
			for (let touch = 0; touch < weights.length; touch++) {
				const weight = weights[touch] as number;
				if (weight > 0) add(path.labels[touch] as number, weight, amounts);
			}
		}
	}
	if (!shares) return credit;
	for (const name of amountNames) {
		const total = paths.reduce(
			(sum, { path, amounts }) => (path.labels.length > 0 ? sum + amounts[name] : sum),
			0,
		);
		for (const [label, share] of shares.entries()) credit[name][label] = share * total;
	}
	return credit;
}

function markovShares(
	paths: readonly CreditedPath[],
	lost: readonly LostLabels[],
	labels: number,
): Float64Array {
	const chain = new MarkovChain(labels);
	for (const { path, conversions } of paths)
		if (path.labels.length > 0) chain.addPath(path.labels, true, conversions);
	for (const { labels: path, visitors } of lost) chain.addPath(path, false, visitors);
	return creditShares(chain.removalEffects());
}
