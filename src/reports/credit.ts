import { type Amounts, amountNames } from './journey.ts';
import { creditShares, MarkovChain } from './markov.ts';
import { type AttributionModel, type LabelledPath, weightsOf } from './model.ts';

/** A path and what came of it; of an empty one nobody knows what led to it. */
export interface CreditedPath {
	readonly path: LabelledPath;
	/** How many subscriptions it led to; several where paths are alike. */
	readonly conversions: number;
	readonly amounts: Amounts;
}

export interface LostLabels {
	readonly labels: readonly number[];
	readonly visitors: number;
}

/** What each label is credited with, by the names of amounts; the last place is of empty paths. Not yet whole pence. */
export type Credit = Readonly<Record<(typeof amountNames)[number], Float64Array>>;

/**
 * Splits what paths led to among the labels of their touches.
 * @param paths in an order that does not depend on how they were read: so sums are the same to the last digit
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
		for (const name of amountNames) (credit[name][label] as number) += weight * amounts[name];
	};
	const shares = model === 'markov' ? markovShares(paths, lost, labels) : undefined;
	for (const { path, amounts } of paths) {
		if (path.labels.length === 0) add(labels, 1, amounts);
		else if (model !== 'markov')
			for (const [touch, weight] of weightsOf(model, path, halfLifeDays).entries())
				if (weight > 0) add(path.labels[touch] as number, weight, amounts);
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
