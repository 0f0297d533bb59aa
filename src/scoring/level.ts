import { dayMs } from '../durations.ts';
import { logistic, logOddsOfProbability } from './measure.ts';
import { type Recency, recencies } from './recency.ts';

/** A rate of fewer visitors of either outcome is not reliable, so older rows are used as well. */
const enoughVisitors = 200;
/** Whole weeks, so that weekdays and weekends count alike. */
const minPeriodMs = 7 * dayMs;
/** This share of the known rows is recent if that is less, unless it has too few visitors of either outcome. */
const recentShare = 0.2;
const minVisitors = 20;
/** Two rates differ if their distance is more than this many standard errors. */
const maxErrors = 2;
/** A recency has a level of its own if it has this many rows, and some of each outcome. */
const minRows = 50;
const minOfOutcome = 5;

/** Rows in time order. */
export interface TimedRows {
	readonly atMs: Float64Array;
	readonly labels: Uint8Array;
	/** The visitor of each row. */
	readonly groups: Uint32Array;
	readonly recency: Uint8Array;
}

/** The recent rows that set the level of each recency; positions among the rows. */
export type RecentRows = readonly [Uint32Array, Uint32Array, Uint32Array];

/** Transforms log-odds: their spread and their level. */
export interface Line {
	readonly slope: number;
	readonly intercept: number;
}

/**
 * For each recency, the recent rows among the first `known`, whose rate is the current level: those of the last week,
 * and more until the rate is reliable, but at most the latest fifth.
 */
export function recentRows(rows: TimedRows, known: number): RecentRows {
	const all = recentOf(
		rows,
		Uint32Array.from({ length: known }, (_, row) => row),
	);
	return recencies.map((recency) => {
		const alike: number[] = [];
		for (let row = 0; row < known; row++) if (rows.recency[row] === recency) alike.push(row);
		const recent = recentOf(rows, Uint32Array.from(alike));
		const conversions = recent.reduce((sum, row) => sum + (rows.labels[row] as number), 0);
		const rarer = Math.min(conversions, recent.length - conversions);
		return recent.length >= minRows && rarer >= minOfOutcome ? recent : all;
	}) as unknown as RecentRows;
}

function recentOf(rows: TimedRows, among: Uint32Array): Uint32Array {
	return among.subarray(withOlderRowsAlike(rows, among, startOfRecent(rows, among)));
}

function startOfRecent({ atMs, labels, groups }: TimedRows, among: Uint32Array): number {
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
 * A rate of few visitors is noise. So as many older rows are added, again and again, unless their rate differs by more
 * than two standard errors, which means that the level has moved.
 */
function withOlderRowsAlike(rows: TimedRows, among: Uint32Array, start: number): number {
	const timeOf = (place: number) => rows.atMs[among[place] as number];
	let from = start;
	while (from > 0) {
		const recent = tally(rows, among.subarray(from));
		if (recent.rarerVisitors >= enoughVisitors) return from;
		let before = Math.max(0, 2 * from - among.length);
		while (before > 0 && timeOf(before - 1) === timeOf(before)) before--;
		const older = tally(rows, among.subarray(before, from));
		const error = Math.sqrt(recent.variance + older.variance);
		if (Math.abs(recent.rate - older.rate) > maxErrors * error) return from;
		from = before;
	}
	return 0;
}

/** The rate of rows, its variance with a visitor's rows together, and the visitors of the rarer outcome. */
function tally({ labels, groups }: TimedRows, places: Uint32Array) {
	const seen = [new Set<number>(), new Set<number>()] as const;
	const rate = rateOf(Uint8Array.from(places, (row) => labels[row] as number));
	const misses = new Map<number, number>();
	for (const row of places) {
		const group = groups[row] as number;
		seen[labels[row] as 0 | 1].add(group);
		misses.set(group, (misses.get(group) ?? 0) + (labels[row] as number) - rate);
	}
	const squares = misses.values().reduce((sum, miss) => sum + miss ** 2, 0);
	return {
		rate,
		variance: squares / places.length ** 2,
		rarerVisitors: Math.min(seen[0].size, seen[1].size),
	};
}

/** The rate of labels. If all are alike, half a row of the other outcome is added, so that the log-odds stay finite. */
export function rateOf(labels: Uint8Array): number {
	let conversions = 0;
	for (const label of labels) conversions += label;
	return conversions === 0 || conversions === labels.length
		? (conversions + 0.5) / (labels.length + 1)
		: conversions / labels.length;
}

/**
 * For each recency, the line with the given slope that makes the mean probability of its recent rows their rate. With a
 * slope of 0 everybody gets the base rate: the given one, or the rate of these rows.
 */
export function levelLines(
	recent: RecentRows,
	logOdds: Float64Array,
	labels: Uint8Array,
	slopes: readonly number[],
	baseRates?: readonly number[],
): Line[] {
	return recencies.map((recency: Recency) => {
		const rows = recent[recency];
		const slope = slopes[recency] as number;
		const said = new Float64Array(rows.length);
		const came = new Uint8Array(rows.length);
		for (let place = 0; place < rows.length; place++) {
			const row = rows[place] as number;
			said[place] = slope * (logOdds[row] as number);
			came[place] = labels[row] as number;
		}
		return {
			slope,
			intercept:
				slope === 0 ? logOddsOfProbability(baseRates?.[recency] ?? rateOf(came)) : levelShift(said, came),
		};
	});
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
