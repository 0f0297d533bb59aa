import { apportion } from './apportion.ts';
import { type CreditedPath, creditOf } from './credit.ts';
import {
	type Amounts,
	addAmounts,
	amountNames,
	amountsOf,
	type Basis,
	countedSteps,
	type Journey,
	netPence,
	noAmounts,
	type Period,
	ratio,
	rounded,
} from './journey.ts';
import { countLabels, type Grouping, Labels, labelledPath, labelValues, none } from './label.ts';
import type { LostLabels, LostPaths } from './lost-paths.ts';
import { type ShareInterval, type SimilarVisitors, shareIntervals } from './markov-interval.ts';
import type { AttributionModel } from './model.ts';

export interface AttributionOptions {
	readonly by: Grouping;
	readonly models: readonly AttributionModel[];
	readonly period: Period;
	readonly basis: Basis;
	readonly halfLifeDays: number;
	/** Whether to compute the intervals of the Markov model's shares, which takes most of the time. */
	readonly intervals: boolean;
	readonly random: () => number;
}

/** What a model credits to a row. */
export interface CreditedAmounts extends Amounts {
	readonly netPence: number;
	/** Share of all subscriptions; null if there are none. */
	readonly share: number | null;
	/** Bounds of the 95 % interval of `subscriptions`; only for the Markov model. */
	readonly low?: number;
	readonly high?: number;
}

export interface AttributionRow {
	/** The values of the grouping's dimensions. */
	readonly values: readonly string[];
	/**
	 * The number of paths that contain it before the end, divided by those that end with it; null if none ends with it.
	 */
	readonly assistRatio: number | null;
	readonly models: Readonly<Partial<Record<AttributionModel, CreditedAmounts>>>;
}

export interface Attribution {
	readonly totals: Amounts & { readonly netPence: number };
	readonly rows: readonly AttributionRow[];
	readonly warnings: readonly string[];
}

/** With fewer conversions, the Markov model's shares are mostly chance. */
const fewConversions = 300;
/** Shares of a subscription are shown in ten-thousandths. */
const partsOfOne = 10_000;

/**
 * Credits touches with the subscriptions and pence that followed them. Every column adds up to the stored total.
 * @param journeys in an order that does not depend on the order of arrival, so that sums are equal to the last digit
 */
export function attribute(
	journeys: readonly Journey[],
	lost: LostPaths,
	options: AttributionOptions,
): Attribution {
	const { by, models, period, basis } = options;
	const counted = journeys.flatMap((journey) => {
		const steps = countedSteps(journey.subscription, period, basis);
		return steps.length > 0 ? [{ journey, amounts: amountsOf(steps) }] : [];
	});
	const labels = labelsOf(
		counted.map(({ journey }) => journey),
		lost,
		by,
	);
	const numberOf = (label: string) => labels.numberOf(label);
	const paths = counted.map(({ journey: { subscription, path }, amounts }) => ({
		path: labelledPath(path, subscription.convertedAtMs, { labels, by }),
		conversions: 1,
		amounts,
		owner: subscription.owner,
	}));
	const lostLabels = lost.labelled(numberOf);
	const totals = paths.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts);
	const isMarkov = models.includes('markov');
	const intervals =
		isMarkov && options.intervals
			? shareIntervals(similarVisitors(paths, lostLabels), labels.names.length, options.random)
			: [];
	const columns = models.map((model) => ({
		model,
		amounts: wholeAmounts(paths, lostLabels, totals, labels.names.length, model, options),
	}));
	const known = paths.reduce(
		(sum, { path, amounts }) => (path.labels.length > 0 ? sum + amounts.subscriptions : sum),
		0,
	);
	const assists = assistRatios(paths, labels.names.length);
	const rows = [...labels.names, none].flatMap((name, label) => {
		const isEmpty = name === none && !paths.some(({ path }) => path.labels.length === 0);
		if (isEmpty) return [];
		const credited = columns.map(({ model, amounts }) => {
			const amount = amounts[label] as Amounts;
			const share = ratio(amount.subscriptions, totals.subscriptions);
			const interval = model === 'markov' ? intervals[label] : undefined;
			return [model, { ...amount, netPence: netPence(amount), share, ...withinOf(interval, known) }] as const;
		});
		return [
			{
				values: labelValues(name, by),
				assistRatio: assists[label] ?? null,
				models: Object.fromEntries(credited),
			},
		];
	});
	const conversions = paths.filter(({ path }) => path.labels.length > 0).length;
	return {
		totals: { ...totals, netPence: netPence(totals) },
		rows: rows.sort((a, b) => compareRows(a, b, models[0] as AttributionModel)),
		warnings:
			isMarkov && conversions < fewConversions
				? [`The Markov model rests on ${conversions} subscriptions; below ${fewConversions} it says little.`]
				: [],
	};
}

function labelsOf(journeys: readonly Journey[], lost: LostPaths, by: Grouping): Labels {
	if (by.length === 0) return new Labels(new Map([['', 1]]));
	const counts = lost.counts();
	countLabels(counts, journeys, by);
	return new Labels(counts);
}

function withinOf(
	interval: ShareInterval | undefined,
	subscriptions: number,
): { low?: number; high?: number } {
	if (!interval) return {};
	return {
		low: rounded(interval.low * subscriptions, 2),
		high: rounded(interval.high * subscriptions, 2),
	};
}

function wholeAmounts(
	paths: readonly CreditedPath[],
	lost: readonly LostLabels[],
	totals: Amounts,
	labels: number,
	model: AttributionModel,
	{ halfLifeDays }: AttributionOptions,
): Amounts[] {
	const credit = creditOf(model, paths, lost, { labels, halfLifeDays });
	const whole = (name: (typeof amountNames)[number], parts: number) => {
		const total = totals[name];
		const shares = credit[name].map((part) => (total === 0 ? 0 : part / total));
		return apportion(total * parts, shares).map((part) => part / parts);
	};
	const [subscriptions = [], acquisition = [], renewal = [], refund = []] = amountNames.map((name) =>
		whole(name, name === 'subscriptions' ? partsOfOne : 1),
	);
	return Array.from({ length: labels + 1 }, (_, label) => ({
		subscriptions: subscriptions[label] as number,
		acquisitionPence: acquisition[label] as number,
		renewalPence: renewal[label] as number,
		refundPence: refund[label] as number,
	}));
}

/** Subscriptions of one visitor stay together, and visitors with equal paths are counted together. */
function similarVisitors(
	paths: readonly (CreditedPath & { readonly owner: string | null })[],
	lost: readonly LostLabels[],
): SimilarVisitors[] {
	const ofOwner = new Map<string | null, (readonly number[])[]>();
	for (const { path, owner } of paths) {
		if (path.labels.length === 0) continue;
		const own = ofOwner.get(owner);
		if (own) own.push(path.labels);
		else ofOwner.set(owner, [path.labels]);
	}
	const alike = new Map<string, { visitors: number; converted: readonly (readonly number[])[] }>();
	for (const converted of ofOwner.values()) {
		const name = converted
			.map((path) => path.join())
			.sort()
			.join(' ');
		const same = alike.get(name);
		if (same) same.visitors++;
		else alike.set(name, { visitors: 1, converted });
	}
	const subscribers = [...alike].sort(([a], [b]) => (a < b ? -1 : 1));
	return [
		...subscribers.map(([, visitors]) => ({ ...visitors, lost: null })),
		...lost.map(({ labels, visitors }) => ({ visitors, converted: [], lost: labels })),
	];
}

function assistRatios(paths: readonly CreditedPath[], labels: number): (number | null)[] {
	const [last, assisted] = [new Float64Array(labels + 1), new Float64Array(labels + 1)];
	for (const { path, amounts } of paths) {
		const end = path.labels.at(-1);
		(last[end ?? labels] as number) += amounts.subscriptions;
		for (const label of new Set(path.labels))
			if (label !== end) (assisted[label] as number) += amounts.subscriptions;
	}
	return Array.from(last, (lasts, label) => ratio(assisted[label] as number, lasts));
}

function compareRows(a: AttributionRow, b: AttributionRow, model: AttributionModel): number {
	const [one, other] = [a.models[model] as CreditedAmounts, b.models[model] as CreditedAmounts];
	return (
		other.subscriptions - one.subscriptions ||
		other.netPence - one.netPence ||
		(a.values.join('\u001f') < b.values.join('\u001f') ? -1 : 1)
	);
}
