import type { LogisticWeights } from '../../../core/scoring/model/model.ts';
import type { EncodedRows } from './encoding.ts';
import { choleskyFactor, columnProducts, columnSums, solve, toLogisticWeights } from './logistic.ts';

/**
 * Fits linear regression with the penalty ½·penalty·w² on every weight but the intercept. `logOddsOf` gives what it predicts.
 * @param targets one for each row
 */
export function fitRidge(rows: EncodedRows, targets: Float64Array, penalty: number): LogisticWeights {
	const factor = choleskyFactor(columnProducts(rows, new Float64Array(rows.rows).fill(1)), penalty);
	return toLogisticWeights(solve(factor, columnSums(rows, targets)));
}
