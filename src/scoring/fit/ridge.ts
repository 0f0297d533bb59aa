import type { EncodedRows } from './encoding.ts';
import { columnSums, type LogisticWeights, logOddsOf, product, toLogisticWeights } from './logistic.ts';

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
		const sums = columnSums(rows, logOddsOf(rows, toLogisticWeights(parameters)));
		for (let index = 1; index < sums.length; index++)
			(sums[index] as number) += penalty * (parameters[index] as number);
		return sums;
	};
	const residual = columnSums(rows, targets);
	const parameters = new Float64Array(residual.length);
	let direction = residual.slice();
	let squares = product(residual, residual);
	const enough = squares * tolerance ** 2;
	for (let step = 0; step < maxSteps && squares > enough; step++) {
		const change = normal(direction);
		const length = squares / product(direction, change);
		for (let index = 0; index < parameters.length; index++) {
			(parameters[index] as number) += length * (direction[index] as number);
			(residual[index] as number) -= length * (change[index] as number);
		}
		const next = product(residual, residual);
		direction = direction.map((value, index) => (residual[index] as number) + (next / squares) * value);
		squares = next;
	}
	return toLogisticWeights(parameters);
}
