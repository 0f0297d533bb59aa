import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import {
	type AttributionModel,
	type LabelledPath,
	type PathModel,
	weightsOf,
} from '../../kit/reports/attribution-model.ts';
import { type Amounts, amountNames, type Journey, rounded } from '../../kit/reports/journey.ts';
import { type Grouping, type Labels, labelledPath } from '../../kit/reports/label.ts';
import type { LostLabels, LostPaths } from '../../kit/reports/lost-paths.ts';
import { creditShares, MarkovChain } from './markov.ts';

/** A path and its outcome. A path is empty if the visitor is unknown or had no touch. */
export interface CreditedPath {
	readonly path: LabelledPath;
	/** How many subscriptions the Markov chain learns from; several if paths are equal. */
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
		trials: new Float64Array(labels + 1),
		subscriptions: new Float64Array(labels + 1),
		acquisitionPence: new Float64Array(labels + 1),
		renewalPence: new Float64Array(labels + 1),
		refundPence: new Float64Array(labels + 1),
	};
	const add = (label: number, weight: number, amounts: Amounts) => {
		// Written out: in a loop over the names it takes five times as long.
		(credit.trials[label] as number) += weight * amounts.trials;
		(credit.subscriptions[label] as number) += weight * amounts.subscriptions;
		(credit.acquisitionPence[label] as number) += weight * amounts.acquisitionPence;
		(credit.renewalPence[label] as number) += weight * amounts.renewalPence;
		(credit.refundPence[label] as number) += weight * amounts.refundPence;
	};
	const shares = model === 'markov' ? markovShares(paths, lost, labels) : undefined;
	for (const { path, amounts } of paths) {
		if (path.labels.length === 0) add(labels, 1, amounts);
		else if (shares) addRefund(credit.refundPence, path.labels, shares, amounts.refundPence);
		else {
			const weights = weightsOf(model as PathModel, path, halfLifeDays);
			for (let touch = 0; touch < weights.length; touch++) {
				const weight = weights[touch] as number;
				if (weight > 0) add(path.labels[touch] as number, weight, amounts);
			}
		}
	}
	if (!shares) return credit;
	for (const name of amountNames) {
		if (name === 'refundPence') continue;
		const total = paths.reduce(
			(sum, { path, amounts }) => (path.labels.length > 0 ? sum + amounts[name] : sum),
			0,
		);
		for (const [label, share] of shares.entries()) credit[name][label] = share * total;
	}
	return credit;
}

/** What is credited to a label, less refunds. */
export function netCreditAt({ acquisitionPence, renewalPence, refundPence }: Credit, label: number): number {
	return (
		(acquisitionPence[label] as number) + (renewalPence[label] as number) + (refundPence[label] as number)
	);
}

/** A refund is of a known path: it goes to the labels of that path, in proportion to their shares. */
function addRefund(
	credit: Float64Array,
	path: readonly number[],
	shares: Float64Array,
	refundPence: number,
): void {
	if (refundPence === 0) return;
	const own = [...new Set(path)];
	const all = own.reduce((sum, label) => sum + (shares[label] as number), 0);
	for (const label of own)
		(credit[label] as number) += refundPence * (all > 0 ? (shares[label] as number) / all : 1 / own.length);
}

/** The path of a subscription, and what it is credited with. */
export function creditedPath(
	{ subscription, path }: Journey,
	amounts: Amounts,
	of: { readonly labels: Labels; readonly by: Grouping },
): CreditedPath {
	const { convertedAtMs } = subscription;
	return { path: labelledPath(path, convertedAtMs, of), conversions: amounts.subscriptions, amounts };
}

/** What the Markov model rests on. */
export interface MarkovBasis {
	readonly subscriptions: number;
	readonly lostPaths: number;
	/** A visitor without a subscription who has stayed away for so long is lost. */
	readonly lostAfterDays: number | null;
}

export function markovBasis(paths: readonly CreditedPath[], lost: LostPaths): MarkovBasis {
	const subscriptions = paths.reduce(
		(sum, { path, conversions }) => (path.labels.length > 0 ? sum + conversions : sum),
		0,
	);
	return { subscriptions, lostPaths: lost.visitors, lostAfterDays: lostAfterDaysOf(lost) };
}

/** With fewer conversions, the Markov model's shares are mostly chance. */
const fewConversions = 300;

/** Whether it says little. */
export function restsOnFew({ subscriptions }: MarkovBasis): boolean {
	return subscriptions < fewConversions;
}

/** Sentences on what the model rests on, and whether it is shown: without lost paths it would be a share of paths. */
export function markovSays(basis: MarkovBasis | undefined) {
	if (!basis) return { isShown: false, warnings: [], notes: [] };
	const { subscriptions, lostPaths, lostAfterDays } = basis;
	if (subscriptions === 0 || lostPaths === 0) {
		const why =
			lostPaths > 0
				? 'of the subscriptions of this period, no path is known'
				: 'no visitor of this period is known to be lost yet';
		return { isShown: false, warnings: [`The Markov model is not shown: ${why}.`], notes: [] };
	}
	const few = `The Markov model rests on ${counted(subscriptions, 'subscription')}. With fewer than ${fewConversions}, do not rely on it.`;
	const compares = `The Markov model compares ${counted(subscriptions, 'subscription')} with ${counted(lostPaths, 'lost path')}.`;
	return {
		isShown: true,
		warnings: restsOnFew(basis) ? [few] : [],
		notes: [[compares, ...lostNotes(lostAfterDays)].join(' ')],
	};
}

/** When a visitor is lost, if that is known. */
export function lostNotes(lostAfterDays: number | null): string[] {
	return lostAfterDays === null
		? []
		: [
				`A visitor counts as lost after ${counted(lostAfterDays, 'day')} without coming back: 99 of 100 subscribers came back sooner.`,
			];
}

export function lostAfterDaysOf({ afterMs }: LostPaths): number | null {
	return afterMs === null ? null : rounded(afterMs / dayMs, 1);
}

function markovShares(
	paths: readonly CreditedPath[],
	lost: readonly LostLabels[],
	labels: number,
): Float64Array {
	const chain = new MarkovChain(labels);
	for (const { path, conversions } of paths)
		if (path.labels.length > 0 && conversions > 0) chain.addPath(path.labels, true, conversions);
	for (const { labels: path, visitors } of lost) chain.addPath(path, false, visitors);
	return creditShares(chain.removalEffects());
}
