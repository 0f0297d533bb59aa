import { dayMs } from '../../durations.ts';
import { logistic } from '../fit/measure.ts';
import { without } from '../rows/ablation.ts';
import { type Dataset, valuesAt } from '../rows/dataset.ts';
import { recencies } from '../rows/recency.ts';

/** A rate of fewer visitors of either outcome is not reliable, so older rows are used as well. */
const enoughVisitors = 200;
/** Whole weeks, so that weekdays and weekends count alike. */
const minPeriodMs = 7 * dayMs;
/** This share of the known rows is recent if that is less, unless it has too few visitors of either outcome. */
const recentShare = 0.2;
const minVisitors = 20;

/** Rows in time order. */
export type TimedRows = Pick<Dataset, 'atMs' | 'labels' | 'groups' | 'recency'>;

/** The recent rows that set the level of each recency; positions among the rows. */
export type RecentRows = readonly Uint32Array[];

/**
 * For each recency, its recent rows: those of the last week, and more until there are 200 visitors of either outcome, or
 * the latest fifth.
 */
export function recentRows(rows: TimedRows): RecentRows {
	return recencies.map((recency) => {
		const alike = [...rows.recency.keys()].filter((row) => rows.recency[row] === recency);
		return Uint32Array.from(alike.slice(startOfRecent(rows, alike)));
	});
}

function startOfRecent({ atMs, labels, groups }: TimedRows, among: readonly number[]): number {
	const timeOf = (place: number) => atMs[among[place] as number] as number;
	const latestFifth = among.length - Math.max(1, Math.ceil(among.length * recentShare));
	const lastMs = timeOf(among.length - 1);
	const seen = [new Set<number>(), new Set<number>()] as const;
	for (let place = among.length - 1; place > 0; place--) {
		const row = among[place] as number;
		seen[labels[row] as 0 | 1].add(groups[row] as number);
		// Keeps rows of one moment together.
		if (timeOf(place) === timeOf(place - 1)) continue;
		const rarer = Math.min(seen[0].size, seen[1].size);
		const isEnough = rarer >= enoughVisitors && lastMs - timeOf(place) >= minPeriodMs;
		if (isEnough || (place <= latestFifth && rarer >= minVisitors)) return place;
	}
	return 0;
}

/**
 * For each recency, the shift of the log-odds that makes the mean score of its rows the share of them that reached the
 * goal. With fewer than 20 visitors of either outcome, it is that of all rows.
 */
export function levelShifts(
	recent: RecentRows,
	logOdds: Float64Array,
	{ labels, groups }: Pick<TimedRows, 'labels' | 'groups'>,
): number[] {
	if (without.has('level')) return recent.map(() => 0);
	const shiftOf = (places: Uint32Array) => levelShift(valuesAt(logOdds, places), valuesAt(labels, places));
	const ofAll = shiftOf(Uint32Array.from(recent.flatMap((places) => [...places])));
	return recent.map((places) => {
		const visitorsOf = (label: number) =>
			new Set(places.filter((place) => labels[place] === label).map((place) => groups[place] as number)).size;
		const isProven = Math.min(visitorsOf(0), visitorsOf(1)) >= minVisitors;
		return isProven && !without.has('level by recency') ? shiftOf(places) : ofAll;
	});
}

/** The rate of labels. If all are alike, half a row of the other outcome is added, so that the log-odds stay finite. */
export function rateOf(labels: ArrayLike<number>): number {
	let conversions = 0;
	for (let row = 0; row < labels.length; row++) conversions += labels[row] as number;
	return conversions === 0 || conversions === labels.length
		? (conversions + 0.5) / (labels.length + 1)
		: conversions / labels.length;
}

/** Newton's last step, which leaves an error of about its square. */
const lastStep = 1e-5;

/** The shift of log-odds that makes their mean probability the rate of the labels. */
export function levelShift(logOdds: Float64Array, labels: Uint8Array): number {
	if (labels.length === 0) return 0;
	const rate = rateOf(labels);
	const rateLogOdds = Math.log(rate / (1 - rate));
	let [low, high] = [-40, 40];
	let shift = 0;
	for (let step = 0; step < 100; step++) {
		let [sum, curvature] = [0, 0];
		// Training spends much of its time in this loop.
		for (let row = 0; row < logOdds.length; row++) {
			const probability = logistic((logOdds[row] as number) + shift);
			sum += probability;
			curvature += probability * (1 - probability);
		}
		const mean = sum / logOdds.length;
		// Newton's step for the log-odds of the mean, which are almost a line.
		const change =
			((rateLogOdds - Math.log(mean / (1 - mean))) * mean * (1 - mean) * logOdds.length) / curvature;
		if (Math.abs(change) < lastStep) return shift + change;
		if (mean > rate) high = shift;
		else low = shift;
		const next = shift + change;
		shift = next > low && next < high ? next : (low + high) / 2;
	}
	return shift;
}
