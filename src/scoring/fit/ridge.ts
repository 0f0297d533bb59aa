import type { EncodedRows } from './encoding.ts';
import { type LogisticWeights, logOddsOf, toLogisticWeights } from './logistic.ts';

const maxSteps = 200;
/** The fit has converged when the residual is so much smaller than the targets' part in the columns. */
const tolerance = 1e-8;

/**
 * Fits linear regression with the penalty ½·penalty·w² on every weight but the intercept, by conjugate gradients (Hestenes
 * and Stiefel 1952). `logOddsOf` gives what it predicts.
 * @param targets one for each row
 */
export function fitRidge(rows: EncodedRows, targets: Float64Array, penalty: number): LogisticWeights {
	const normal = (parameters: Float64Array) => {
		const product = transposed(rows, logOddsOf(rows, toLogisticWeights(parameters)));
		for (let index = 1; index < product.length; index++)
			(product[index] as number) += penalty * (parameters[index] as number);
		return product;
	};
	const residual = transposed(rows, targets);
	const parameters = new Float64Array(residual.length);
	let direction = residual.slice();
	let squares = dot(residual, residual);
	const enough = squares * tolerance ** 2;
	for (let step = 0; step < maxSteps && squares > enough; step++) {
		const change = normal(direction);
		const length = squares / dot(direction, change);
		for (let index = 0; index < parameters.length; index++) {
			(parameters[index] as number) += length * (direction[index] as number);
			(residual[index] as number) -= length * (change[index] as number);
		}
		const next = dot(residual, residual);
		direction = direction.map((value, index) => (residual[index] as number) + (next / squares) * value);
		squares = next;
	}
	return toLogisticWeights(parameters);
}

/** For each parameter, the sum of its column times these values. */
function transposed({ rows, linear, missing }: EncodedRows, values: Float64Array): Float64Array {
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

function dot(a: Float64Array, b: Float64Array): number {
	let sum = 0;
	for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
	return sum;
}
