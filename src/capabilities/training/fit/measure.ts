import { clipped, logistic } from '../../../core/scoring/model/log-odds.ts';
/** Measures of predicted probabilities. `labels` are 0 or 1; `scores` are probabilities in the same order. */

/** A number with its 95 % confidence interval. */
export interface Interval {
	readonly value: number;
	readonly low: number;
	readonly high: number;
}

/** A number with its 95 % confidence interval, where one can be known. */
export interface Estimate {
	readonly value: number;
	readonly low: number | null;
	readonly high: number | null;
}

/** With fewer visitors of either outcome, an interval would claim more than they show. */
const minGroupsForInterval = 10;

/** The log loss of each row. */
export function logLosses(labels: Uint8Array, scores: Float64Array): Float64Array {
	return scores.map((score, row) => {
		const probability = clipped(score);
		return -Math.log(labels[row] ? probability : 1 - probability);
	});
}

export function mean(values: ArrayLike<number>): number {
	let sum = 0;
	for (let index = 0; index < values.length; index++) sum += values[index] as number;
	return sum / values.length;
}

export function logLoss(labels: Uint8Array, scores: Float64Array): number {
	return mean(logLosses(labels, scores));
}

export function brierScore(labels: Uint8Array, scores: Float64Array): number {
	return mean(scores.map((score, row) => (score - (labels[row] as number)) ** 2));
}

/** The rows in ascending order of their scores. */
export function byScore(scores: Float64Array): Uint32Array {
	return Uint32Array.from(scores.keys()).sort(
		(a, b) => (scores[a] as number) - (scores[b] as number) || a - b,
	);
}

/** Mid-ranks from 1: equal scores share the mean of their ranks. */
export function midRanks(scores: Float64Array): Float64Array {
	const order = byScore(scores);
	const ranks = new Float64Array(scores.length);
	for (let from = 0; from < order.length; ) {
		let to = from + 1;
		while (to < order.length && scores[order[to] as number] === scores[order[from] as number]) to++;
		for (let index = from; index < to; index++) ranks[order[index] as number] = (from + to + 1) / 2;
		from = to;
	}
	return ranks;
}

/**
 * The area under the ROC curve: the probability that a converting row is scored above another, where ties count half.
 * The interval is DeLong's. With `groups`, the rows of a group count as one observation (Obuchowski 1997). It is
 * computed in log-odds, so that it stays within 0 and 1. There is none of few groups of either label, nor where all pairs
 * are ranked correctly. NaN if all labels are the same.
 */
export function auc(labels: Uint8Array, scores: Float64Array, groups?: Uint32Array): Estimate {
	const positives = scores.filter((_, row) => labels[row] === 1);
	const negatives = scores.filter((_, row) => labels[row] !== 1);
	if (positives.length === 0 || negatives.length === 0) return { value: Number.NaN, low: null, high: null };
	const ranks = midRanks(scores);
	const ranksAmongPositives = midRanks(positives).values();
	const ranksAmongNegatives = midRanks(negatives).values();
	// For each row, the share of rows with the other outcome that it is ranked correctly against.
	const rightShares = scores.map((_, row) => {
		const rank = ranks[row] as number;
		return labels[row] === 1
			? (rank - (ranksAmongPositives.next().value as number)) / negatives.length
			: 1 - (rank - (ranksAmongNegatives.next().value as number)) / positives.length;
	});
	const value = mean(rightShares.filter((_, row) => labels[row] === 1));
	const influences = new Map<number, number>();
	for (const [row, share] of rightShares.entries()) {
		const group = groups?.[row] ?? row;
		const influence = (share - value) / (labels[row] === 1 ? positives.length : negatives.length);
		influences.set(group, (influences.get(group) ?? 0) + influence);
	}
	const squares = influences.values().reduce((sum, influence) => sum + influence ** 2, 0);
	const error = Math.sqrt((squares * influences.size) / (influences.size - 1));
	const groupsOf = (label: number) =>
		new Set((groups ?? Uint32Array.from(labels.keys())).filter((_, row) => labels[row] === label)).size;
	if (value <= 0 || value >= 1 || Math.min(groupsOf(0), groupsOf(1)) < minGroupsForInterval)
		return { value, low: null, high: null };
	const logOdds = Math.log(value / (1 - value));
	const halfWidth = (1.96 * error) / (value * (1 - value));
	return { value, low: logistic(logOdds - halfWidth), high: logistic(logOdds + halfWidth) };
}

/** A mean with its 95 % interval, of values that come in groups: those of one visitor are one observation. */
export function meanOfGroups(values: Float64Array, groups: Uint32Array): Interval {
	const value = mean(values);
	const sums = new Map<number, number>();
	for (const [index, one] of values.entries()) {
		const group = groups[index] as number;
		sums.set(group, (sums.get(group) ?? 0) + one - value);
	}
	const squares = sums.values().reduce((total, sum) => total + sum ** 2, 0);
	const halfWidth = (1.96 * Math.sqrt(squares)) / values.length;
	return { value, low: value - halfWidth, high: value + halfWidth };
}

export interface CalibrationBin {
	readonly rows: number;
	readonly meanScore: number;
	readonly rate: number;
}

/** Up to ten groups of about equal size, by ascending score, with mean scores and rates. */
export function calibrationTable(labels: Uint8Array, scores: Float64Array, bins = 10): CalibrationBin[] {
	const order = byScore(scores);
	const table: CalibrationBin[] = [];
	for (let bin = 0, from = 0; bin < bins; bin++) {
		let to = Math.max(from, Math.round(((bin + 1) * order.length) / bins));
		// Equal scores stay in one group.
		while (to > from && to < order.length && scores[order[to] as number] === scores[order[to - 1] as number])
			to++;
		if (to === from) continue;
		const rows = order.subarray(from, to);
		table.push({
			rows: rows.length,
			meanScore: mean(Float64Array.from(rows, (row) => scores[row] as number)),
			rate: mean(Float64Array.from(rows, (row) => labels[row] as number)),
		});
		from = to;
	}
	return table;
}

/** Expected calibration error: the mean distance between a group's mean score and its rate. */
export function expectedCalibrationError(table: readonly CalibrationBin[]): number {
	const rows = table.reduce((sum, bin) => sum + bin.rows, 0);
	return table.reduce((sum, bin) => sum + (bin.rows / rows) * Math.abs(bin.meanScore - bin.rate), 0);
}

export interface RocPoint {
	/** The share of what does not convert that is scored at least this high. */
	readonly falsePositives: number;
	readonly truePositives: number;
	/** The lowest score of these rows. Missing where there are none, and in reports of earlier versions. */
	readonly score?: number;
}

/** The ROC curve, reduced to about `points` points. @param weights how much each row counts */
export function rocCurve(
	labels: Uint8Array,
	scores: Float64Array,
	weights: Float64Array,
	points = 100,
): RocPoint[] {
	const order = byScore(scores).reverse();
	const all = [0, 0];
	for (const [row, weight] of weights.entries()) (all[labels[row] as 0 | 1] as number) += weight;
	const [negatives, positives] = all as [number, number];
	if (positives === 0 || negatives === 0) return [];
	const curve: RocPoint[] = [{ falsePositives: 0, truePositives: 0 }];
	const found = [0, 0] as [others: number, converted: number];
	let lastKept = 0;
	for (const [index, row] of order.entries()) {
		found[labels[row] as 0 | 1] += weights[row] as number;
		const next = order[index + 1];
		if (next !== undefined && scores[next] === scores[row]) continue;
		// All of them have been found at the end, whatever rounding says.
		const [falsePositives, truePositives] =
			next === undefined ? [1, 1] : [found[0] / negatives, found[1] / positives];
		const progress = truePositives + falsePositives;
		if (next !== undefined && progress - lastKept < 2 / points) continue;
		curve.push({ falsePositives, truePositives, score: scores[row] as number });
		lastKept = progress;
	}
	return curve;
}
