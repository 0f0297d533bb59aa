import { factorise, solveFactorised } from './cholesky.ts';
import type { EncodedRows } from './encoded-rows.ts';
import { logistic } from './measure.ts';

/** The Hessian uses at most this many rows. The gradient, which decides the optimum, uses all. */
const maxRowsForHessian = 20_000;
const maxSteps = 100;
/** The fit has converged when no component of the mean loss's gradient is larger. */
const gradientTolerance = 1e-7;
/** If a step reduces the gradient by this factor, the earlier Hessian is used again. */
const enoughProgress = 0.5;

/** Weights of encoded rows: an intercept, one for each column's number, one for each slot. */
export interface LogisticWeights {
	readonly intercept: number;
	readonly linear: readonly number[];
	readonly slots: readonly (readonly number[])[];
}

export interface LogisticFit {
	readonly weights: LogisticWeights;
	readonly converged: boolean;
	readonly steps: number;
	/** The largest component of the final gradient of the mean penalised loss. */
	readonly gradient: number;
	readonly parameters: Float64Array;
}

/** The positions of parameters: the intercept, then each column's number and its slots. */
class Layout {
	readonly starts: readonly number[];
	readonly size: number;
	readonly #slotCounts: readonly number[];

	constructor(rows: EncodedRows) {
		const starts: number[] = [];
		let next = 1;
		for (const slotCount of rows.slotCounts) {
			starts.push(next);
			next += 1 + slotCount;
		}
		this.starts = starts;
		this.size = next;
		this.#slotCounts = rows.slotCounts;
	}

	weights(parameters: Float64Array): LogisticWeights {
		return {
			intercept: parameters[0] as number,
			linear: this.starts.map((start) => parameters[start] as number),
			slots: this.starts.map((start, column) =>
				Array.from(parameters.subarray(start + 1, start + 1 + (this.#slotCounts[column] as number))),
			),
		};
	}
}

/** The log-odds of encoded rows. */
export function logOddsOf(rows: EncodedRows, weights: LogisticWeights): Float64Array {
	const logOdds = new Float64Array(rows.rows).fill(weights.intercept);
	for (const [column, values] of rows.linear.entries()) {
		const slots = rows.slots[column] as Uint8Array;
		const weight = weights.linear[column] as number;
		const slotWeights = Float64Array.from(weights.slots[column] as readonly number[]);
		for (let row = 0; row < logOdds.length; row++)
			(logOdds[row] as number) +=
				weight * (values[row] as number) + (slotWeights[slots[row] as number] as number);
	}
	return logOdds;
}

/**
 * Fits logistic regression with the penalty ½·strength·w² on every weight but the intercept, by Newton's method with
 * step halving.
 * @param options.start continues from the parameters of an earlier fit on the same encoding
 */
export function fitLogistic(
	rows: EncodedRows,
	strength: number,
	{ start, tolerance = gradientTolerance }: { start?: Float64Array | undefined; tolerance?: number } = {},
): LogisticFit {
	const layout = new Layout(rows);
	let parameters = start ? Float64Array.from(start) : startingPoint(rows, layout.size);
	let logOdds = logOddsOf(rows, layout.weights(parameters));
	let loss = penalisedLoss(rows, logOdds, parameters, strength);
	let gradient = gradientOf(rows, layout, logOdds, parameters, strength);
	let factor: Float64Array | undefined;
	let steps = 0;
	for (; largest(gradient) > tolerance && steps < maxSteps; steps++) {
		const isFresh = factor === undefined;
		factor ??= factorAt(rows, layout, logOdds, strength);
		if (!factor) break;
		const step = solveFactorised(factor, gradient);
		let scale = 1;
		let next = parameters;
		let nextLoss = loss;
		let nextLogOdds = logOdds;
		for (; scale > 1e-6; scale /= 2) {
			next = parameters.map((value, index) => value - scale * (step[index] as number));
			nextLogOdds = logOddsOf(rows, layout.weights(next));
			nextLoss = penalisedLoss(rows, nextLogOdds, next, strength);
			// Near the optimum, the loss changes by less than the rounding error.
			if (nextLoss <= loss + 1e-14 * Math.abs(loss)) break;
		}
		if (scale <= 1e-6 && isFresh) break;
		const before = largest(gradient);
		if (scale > 1e-6) {
			[parameters, logOdds, loss] = [next, nextLogOdds, nextLoss];
			gradient = gradientOf(rows, layout, logOdds, parameters, strength);
		}
		if (largest(gradient) > enoughProgress * before) factor = undefined;
	}
	const size = largest(gradient);
	return {
		weights: layout.weights(parameters),
		converged: size <= tolerance,
		steps,
		gradient: size,
		parameters,
	};
}

function factorAt(
	rows: EncodedRows,
	layout: Layout,
	logOdds: Float64Array,
	strength: number,
): Float64Array | undefined {
	const hessian = hessianOf(rows, layout, logOdds, strength);
	return factorise(hessian, layout.size) ? hessian : undefined;
}

function startingPoint(rows: EncodedRows, size: number): Float64Array {
	let conversions = 0.5;
	for (const label of rows.labels) conversions += label;
	const parameters = new Float64Array(size);
	parameters[0] = Math.log(conversions / (rows.rows + 1 - conversions));
	return parameters;
}

/** log(1 + e^x) without overflow. */
function softplus(x: number): number {
	return x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x));
}

function penalisedLoss(
	rows: EncodedRows,
	logOdds: Float64Array,
	parameters: Float64Array,
	strength: number,
): number {
	let loss = 0;
	for (let row = 0; row < logOdds.length; row++) {
		const value = logOdds[row] as number;
		loss += softplus(value) - (rows.labels[row] ? value : 0);
	}
	let squares = 0;
	for (let index = 1; index < parameters.length; index++) squares += (parameters[index] as number) ** 2;
	return (loss + (strength * squares) / 2) / rows.rows;
}

function gradientOf(
	rows: EncodedRows,
	layout: Layout,
	logOdds: Float64Array,
	parameters: Float64Array,
	strength: number,
): Float64Array<ArrayBuffer> {
	const residuals = logOdds.map((value, row) => (logistic(value) - (rows.labels[row] as number)) / rows.rows);
	const gradient = parameters.map((value) => (strength * value) / rows.rows);
	gradient[0] = 0;
	for (const residual of residuals) (gradient[0] as number) += residual;
	for (const [column, values] of rows.linear.entries()) {
		const slots = rows.slots[column] as Uint8Array;
		const start = layout.starts[column] as number;
		let sum = 0;
		for (let row = 0; row < residuals.length; row++) {
			const residual = residuals[row] as number;
			sum += residual * (values[row] as number);
			(gradient[start + 1 + (slots[row] as number)] as number) += residual;
		}
		(gradient[start] as number) += sum;
	}
	return gradient as Float64Array<ArrayBuffer>;
}

/** The lower triangle of the mean loss's Hessian. Built by pairs of columns, so that the sums stay in the cache. */
function hessianOf(rows: EncodedRows, layout: Layout, logOdds: Float64Array, strength: number): Float64Array {
	const { size, starts } = layout;
	const stride = Math.max(1, Math.ceil(rows.rows / maxRowsForHessian));
	const taken = Math.ceil(rows.rows / stride);
	const curvature = Float64Array.from({ length: taken }, (_, index) => {
		const rate = logistic(logOdds[index * stride] as number);
		return (rate * (1 - rate)) / taken;
	});
	const numbers = rows.linear.map((values) => everyNth(values, stride, new Float64Array(taken)));
	const slots = rows.slots.map((values) => everyNth(values, stride, new Uint8Array(taken)));
	const hessian = new Float64Array(size * size);
	for (const weight of curvature) (hessian[0] as number) += weight;
	for (let a = 0; a < starts.length; a++) {
		const aStart = starts[a] as number;
		const aNumbers = numbers[a] as Float64Array;
		const aSlots = slots[a] as Uint8Array;
		for (let index = 0; index < taken; index++) {
			const weight = curvature[index] as number;
			(hessian[aStart * size] as number) += weight * (aNumbers[index] as number);
			(hessian[(aStart + 1 + (aSlots[index] as number)) * size] as number) += weight;
		}
		for (let b = 0; b <= a; b++) {
			const bStart = starts[b] as number;
			const bNumbers = numbers[b] as Float64Array;
			const bSlots = slots[b] as Uint8Array;
			let both = 0;
			for (let index = 0; index < taken; index++) {
				const weight = curvature[index] as number;
				const aWeighted = weight * (aNumbers[index] as number);
				const bNumber = bNumbers[index] as number;
				const aRow = (aStart + 1 + (aSlots[index] as number)) * size + bStart;
				const bSlot = 1 + (bSlots[index] as number);
				both += aWeighted * bNumber;
				(hessian[aStart * size + bStart + bSlot] as number) += aWeighted;
				(hessian[aRow] as number) += weight * bNumber;
				(hessian[aRow + bSlot] as number) += weight;
			}
			(hessian[aStart * size + bStart] as number) += both;
		}
	}
	for (let index = 1; index < size; index++)
		(hessian[index * size + index] as number) += strength / rows.rows;
	return hessian;
}

function everyNth<Into extends Float64Array | Uint8Array>(
	values: Float32Array | Uint8Array,
	stride: number,
	into: Into,
): Into {
	for (let index = 0; index < into.length; index++) into[index] = values[index * stride] as number;
	return into;
}

function largest(values: Float64Array): number {
	let max = 0;
	for (const value of values) max = Math.max(max, Math.abs(value));
	return max;
}
