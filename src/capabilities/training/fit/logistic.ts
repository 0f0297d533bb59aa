import { logistic } from '../../../core/scoring/model/log-odds.ts';
import type { LogisticWeights } from '../../../core/scoring/model/model.ts';
import type { EncodedRows } from './encoding.ts';

const maxSteps = 50;
/** The fit has converged when no component of the mean loss's gradient is larger. */
const gradientTolerance = 1e-7;
/** The Hessian uses at most this many rows. The gradient, which decides the optimum, uses all. */
const maxRowsForHessian = 3_000;
/** The Hessian is computed anew where a step reduces the gradient less than by this factor. */
const enoughProgress = 0.8;
/** The latest changes of the gradient that correct the Hessian. */
const keptChanges = 8;

export interface LogisticFit {
	readonly weights: LogisticWeights;
	readonly converged: boolean;
	readonly steps: number;
	/** Where a fit of the same columns with another penalty, or of more rows, begins. */
	readonly end: { readonly parameters: Float64Array; readonly hessian: readonly Float64Array[] };
}

export interface FitOptions {
	/** Of the gradient of the mean loss. */
	readonly tolerance?: number;
	/** The fit to begin from. */
	readonly from?: LogisticFit | undefined;
}

/** The log-odds of encoded rows. */
export function logOddsOf({ rows, linear, missing }: EncodedRows, weights: LogisticWeights): Float64Array {
	const logOdds = new Float64Array(rows).fill(weights.intercept);
	for (const [column, values] of linear.entries()) {
		const weight = weights.linear[column] as number;
		for (let row = 0; row < rows; row++) (logOdds[row] as number) += weight * (values[row] as number);
		const without = missing[column] as Uint32Array;
		for (const row of without) (logOdds[row] as number) += weights.missing[column] as number;
	}
	return logOdds;
}

/**
 * Fits logistic regression with the penalty ½·strength·w² on every weight but the intercept, by Newton's method with step
 * halving. A Hessian, also one of a similar fit, serves as long as the gradient's changes can correct it.
 */
export function fitLogistic(
	rows: EncodedRows,
	strength: number,
	{ tolerance = gradientTolerance, from }: FitOptions = {},
): LogisticFit {
	let at = lossAt(rows, strength, from?.end.parameters ?? startingPoint(rows));
	let isFresh = from === undefined;
	let hessian = from?.end.hessian ?? hessianOf(rows, at.logOdds);
	let factor = choleskyFactor(hessian, strength / rows.rows);
	let changes: Change[] = [];
	let steps = 0;
	for (; largest(at.gradient) > tolerance && steps < maxSteps; steps++) {
		const step = newtonStep(factor, changes, at.gradient);
		let next = at;
		let scale = 1;
		for (; scale > 1e-6; scale /= 2) {
			const parameters = at.parameters.map((value, index) => value - scale * (step[index] as number));
			next = lossAt(rows, strength, parameters);
			// Near the optimum, the loss changes by less than the rounding error.
			if (next.loss <= at.loss + 1e-14 * Math.abs(at.loss)) break;
		}
		const isStuck = scale <= 1e-6;
		if (isStuck && isFresh) break;
		const isSlow = isStuck || largest(next.gradient) > enoughProgress * largest(at.gradient);
		changes = [...changes, changeOf(at, next)].slice(-keptChanges);
		if (!isStuck) at = next;
		isFresh = isSlow;
		if (!isSlow) continue;
		hessian = hessianOf(rows, at.logOdds);
		factor = choleskyFactor(hessian, strength / rows.rows);
		changes = [];
	}
	const { parameters, gradient } = at;
	return {
		weights: toLogisticWeights(parameters),
		converged: largest(gradient) <= tolerance,
		steps,
		end: { parameters, hessian },
	};
}

/** How the gradient changed with the parameters. */
interface Change {
	readonly ofParameters: Float64Array;
	readonly ofGradient: Float64Array;
	readonly product: number;
}

function changeOf(from: Place, to: Place): Change {
	const minus = (a: Float64Array, b: Float64Array) => a.map((value, index) => value - (b[index] as number));
	const ofParameters = minus(to.parameters, from.parameters);
	const ofGradient = minus(to.gradient, from.gradient);
	return { ofParameters, ofGradient, product: product(ofParameters, ofGradient) };
}

/** The step by the Hessian as the changes correct it (L-BFGS, Nocedal 1980). */
function newtonStep(
	factor: readonly Float64Array[],
	changes: readonly Change[],
	gradient: Float64Array,
): Float64Array {
	const rest = gradient.slice();
	const shares: number[] = [];
	for (const { ofParameters, ofGradient, product: whole } of changes.toReversed()) {
		const share = product(ofParameters, rest) / whole;
		shares.unshift(share);
		for (let index = 0; index < rest.length; index++)
			(rest[index] as number) -= share * (ofGradient[index] as number);
	}
	const step = solve(factor, rest);
	for (const [number, { ofParameters, ofGradient, product: whole }] of changes.entries()) {
		const share = (shares[number] as number) - product(ofGradient, step) / whole;
		for (let index = 0; index < step.length; index++)
			(step[index] as number) += share * (ofParameters[index] as number);
	}
	return step;
}

function startingPoint({ rows, labels, linear }: EncodedRows): Float64Array {
	const conversions = labels.reduce((sum, label) => sum + label, 0.5);
	const parameters = new Float64Array(1 + 2 * linear.length);
	parameters[0] = Math.log(conversions / (rows + 1 - conversions));
	return parameters;
}

/** The weights, from the intercept, those of numbers, and those where they are missing. */
export function toLogisticWeights(parameters: Float64Array): LogisticWeights {
	const columns = (parameters.length - 1) / 2;
	return {
		intercept: parameters[0] as number,
		linear: Array.from(parameters.subarray(1, 1 + columns)),
		missing: Array.from(parameters.subarray(1 + columns)),
	};
}

/** The mean penalised loss at some parameters, and its gradient. */
interface Place {
	readonly parameters: Float64Array;
	readonly logOdds: Float64Array;
	readonly loss: number;
	readonly gradient: Float64Array;
}

function lossAt(rows: EncodedRows, strength: number, parameters: Float64Array): Place {
	const logOdds = logOddsOf(rows, toLogisticWeights(parameters));
	const residuals = new Float64Array(rows.rows);
	let loss = 0;
	for (let row = 0; row < rows.rows; row++) {
		const value = logOdds[row] as number;
		const label = rows.labels[row] as number;
		// log(1 + e^x) without overflow.
		const less = Math.exp(-Math.abs(value));
		loss += Math.max(0, value) + Math.log1p(less) - label * value;
		residuals[row] = (value < 0 ? less : 1) / (1 + less) - label;
	}
	const gradient = columnSums(rows, residuals);
	let squares = 0;
	for (let index = 1; index < parameters.length; index++) {
		const value = parameters[index] as number;
		(gradient[index] as number) += strength * value;
		squares += value ** 2;
	}
	return {
		parameters,
		logOdds,
		loss: (loss + (strength * squares) / 2) / rows.rows,
		gradient: gradient.map((value) => value / rows.rows),
	};
}

/** For each parameter, the sum of its column times these values. */
export function columnSums({ rows, linear, missing }: EncodedRows, values: Float64Array): Float64Array {
	const sums = new Float64Array(1 + 2 * linear.length);
	for (let row = 0; row < rows; row++) (sums[0] as number) += values[row] as number;
	for (const [column, numbers] of linear.entries()) {
		let sum = 0;
		for (let row = 0; row < rows; row++) sum += (numbers[row] as number) * (values[row] as number);
		sums[1 + column] = sum;
		for (const row of missing[column] as Uint32Array)
			(sums[1 + linear.length + column] as number) += values[row] as number;
	}
	return sums;
}

/** The lower triangle of the mean loss's Hessian without the penalty, by rows. */
function hessianOf(rows: EncodedRows, logOdds: Float64Array): Float64Array[] {
	const stride = Math.max(1, Math.ceil(rows.rows / maxRowsForHessian));
	const curvature = new Float64Array(Math.ceil(rows.rows / stride));
	for (let index = 0; index < curvature.length; index++) {
		const rate = logistic(logOdds[index * stride] as number);
		curvature[index] = (rate * (1 - rate)) / curvature.length;
	}
	return columnProducts(rows, curvature, stride);
}

/** For each two parameters, the sum of their columns' products, weighted: the lower triangle, by rows; of every n-th row. */
export function columnProducts(rows: EncodedRows, weights: Float64Array, stride = 1): Float64Array[] {
	const taken = weights.length;
	const numbers = rows.linear.map((values) => {
		const some = new Float32Array(taken);
		for (let index = 0; index < taken; index++) some[index] = values[index * stride] as number;
		return some;
	});
	const missing = rows.missing.map((without) => {
		// A column without missing values has no flags.
		const flags = new Float32Array(without.length === 0 ? 0 : taken);
		for (const row of without) if (row % stride === 0) flags[row / stride] = 1;
		return flags;
	});
	const columns = [new Float32Array(taken).fill(1), ...numbers, ...missing];
	return columns.map((values, a) => {
		const weighted = new Float64Array(values.length);
		for (let index = 0; index < weighted.length; index++)
			weighted[index] = (values[index] as number) * (weights[index] as number);
		const row = new Float64Array(a + 1);
		for (let b = 0; b <= a; b++) row[b] = product(weighted, columns[b] as Float32Array);
		return row;
	});
}

/** The sum of the products, of the shorter's length. */
export function product(a: Float64Array, b: Float32Array | Float64Array): number {
	// Four sums, because each addition waits for the one before.
	let [s0, s1, s2, s3] = [0, 0, 0, 0];
	const length = Math.min(a.length, b.length);
	let index = 0;
	for (; index + 3 < length; index += 4) {
		s0 += (a[index] as number) * (b[index] as number);
		s1 += (a[index + 1] as number) * (b[index + 1] as number);
		s2 += (a[index + 2] as number) * (b[index + 2] as number);
		s3 += (a[index + 3] as number) * (b[index + 3] as number);
	}
	for (; index < length; index++) s0 += (a[index] as number) * (b[index] as number);
	return s0 + s1 + s2 + s3;
}

/** The Cholesky factor of a matrix, given its lower triangle, with a penalty on all weights but the intercept. */
export function choleskyFactor(hessian: readonly Float64Array[], penalty: number): Float64Array[] {
	const a = hessian.map((row) => row.slice());
	for (const [index, row] of a.entries()) {
		if (index > 0) (row[index] as number) += penalty;
		for (let column = 0; column <= index; column++) {
			const other = a[column] as Float64Array;
			let rest = row[column] as number;
			for (let k = 0; k < column; k++) rest -= (row[k] as number) * (other[k] as number);
			row[column] = column === index ? Math.sqrt(Math.max(rest, 1e-12)) : rest / (other[column] as number);
		}
	}
	return a;
}

/** Solves A·x = b, given the factor of A. */
export function solve(factor: readonly Float64Array[], b: Float64Array): Float64Array {
	const x = b.slice();
	for (const [index, row] of factor.entries()) {
		for (let k = 0; k < index; k++) (x[index] as number) -= (row[k] as number) * (x[k] as number);
		(x[index] as number) /= row[index] as number;
	}
	for (const [index, row] of [...factor.entries()].reverse()) {
		(x[index] as number) /= row[index] as number;
		for (let k = 0; k < index; k++) (x[k] as number) -= (row[k] as number) * (x[index] as number);
	}
	return x;
}

function largest(values: Float64Array): number {
	return values.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
}
