import { logLoss } from '../../src/capabilities/training/fit/measure.ts';
import { dayMs } from '../../src/core/durations.ts';
import { logistic } from '../../src/core/scoring/model/log-odds.ts';
import type { Histories, Purchase } from './cdnow.ts';

/** Strength of the L2 penalty. */
const strength = 1;
const maxSteps = 30;

/** Eight features of recency, frequency and amount as log(1 + x); undefined before the first purchase. */
function featuresAsOf(history: readonly Purchase[], asOfMs: number): number[] | undefined {
	const known = history.filter(({ atMs }) => atMs <= asOfMs);
	const [first, last] = [known[0], known.at(-1)];
	if (!first || !last) return undefined;
	const days = (fromMs: number, toMs = asOfMs) => (toMs - fromMs) / dayMs;
	const within = (maxDays: number) => known.filter(({ atMs }) => days(atMs) < maxDays).length;
	const dollars = known.reduce((sum, purchase) => sum + purchase.dollars, 0);
	return [
		known.length,
		within(30),
		within(90),
		days(last.atMs),
		days(first.atMs),
		known.length > 1 ? days(first.atMs, last.atMs) / (known.length - 1) : 0,
		dollars,
		dollars / known.length,
	].map(Math.log1p);
}

interface Rows {
	readonly features: readonly (readonly number[])[];
	readonly labels: Uint8Array;
}

function rowsAsOf(histories: Histories, asOfMs: number, horizonMs: number): Rows {
	const features: number[][] = [];
	const labels: number[] = [];
	for (const history of histories.values()) {
		const row = featuresAsOf(history, asOfMs);
		if (!row) continue;
		features.push(row);
		labels.push(history.some(({ atMs }) => atMs > asOfMs && atMs <= asOfMs + horizonMs) ? 1 : 0);
	}
	return { features, labels: Uint8Array.from(labels) };
}

/** Log loss of plain logistic regression at a cut, fitted one horizon earlier. */
export function baselineLogLoss(histories: Histories, cutMs: number, horizonMs: number): number {
	const earlier = rowsAsOf(histories, cutMs - horizonMs, horizonMs);
	const now = rowsAsOf(histories, cutMs, horizonMs);
	const standardise = standardiser(earlier.features);
	const weights = fit(earlier.features.map(standardise), earlier.labels);
	const scores = now.features.map((row) => logistic(logOdds(standardise(row), weights)));
	return logLoss(now.labels, Float64Array.from(scores));
}

/** Returns a function that standardises a row and puts a 1 in front for the intercept. */
function standardiser(rows: readonly (readonly number[])[]): (row: readonly number[]) => number[] {
	const columns = (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] as number));
	const moments = columns.map((values) => {
		const middle = values.reduce((sum, value) => sum + value, 0) / values.length;
		const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / values.length;
		return { middle, scale: Math.sqrt(variance) || 1 };
	});
	return (row) => [1, ...moments.map(({ middle, scale }, column) => ((row[column] ?? 0) - middle) / scale)];
}

function logOdds(row: readonly number[], weights: Float64Array): number {
	return row.reduce((sum, value, column) => sum + value * (weights[column] as number), 0);
}

/** Fits the weights by Newton's method, with an L2 penalty on all but the intercept. */
function fit(rows: readonly (readonly number[])[], labels: Uint8Array): Float64Array {
	const size = rows[0]?.length ?? 0;
	const weights = new Float64Array(size);
	for (let step = 0; step < maxSteps; step++) {
		const gradient = weights.map((weight, column) => (column === 0 ? 0 : strength * weight));
		const hessian = Array.from({ length: size }, (_, a) =>
			Array.from({ length: size }, (_column, b) => (a === b && a > 0 ? strength : 0)),
		);
		for (const [index, row] of rows.entries()) {
			const rate = logistic(logOdds(row, weights));
			for (let a = 0; a < size; a++) {
				(gradient[a] as number) += (rate - (labels[index] as number)) * (row[a] as number);
				const ofA = hessian[a] as number[];
				for (let b = 0; b < size; b++)
					(ofA[b] as number) += rate * (1 - rate) * (row[a] as number) * (row[b] as number);
			}
		}
		const change = solve(hessian, [...gradient]);
		for (let column = 0; column < size; column++) (weights[column] as number) -= change[column] as number;
		if (Math.max(...change.map(Math.abs)) < 1e-8) break;
	}
	return weights;
}

/** Solves A·x = b for a positive definite A, by elimination. Changes both. */
function solve(a: readonly number[][], b: number[]): number[] {
	for (const [pivot, ofPivot] of a.entries())
		for (const [index, row] of a.entries()) {
			if (index === pivot) continue;
			const times = (row[pivot] as number) / (ofPivot[pivot] as number);
			for (let column = pivot; column < row.length; column++)
				(row[column] as number) -= times * (ofPivot[column] as number);
			(b[index] as number) -= times * (b[pivot] as number);
		}
	return b.map((value, index) => value / (a[index]?.[index] as number));
}
