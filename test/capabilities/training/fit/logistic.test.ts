import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	type EncodedRows,
	learnEncoding,
	prepareNumbers,
} from '../../../../src/capabilities/training/fit/encoding.ts';
import { fitLogistic, logOddsOf } from '../../../../src/capabilities/training/fit/logistic.ts';
import { inTimeOrder } from '../../../../src/capabilities/training/rows/dataset.ts';
import { logistic } from '../../../../src/core/scoring/model/log-odds.ts';
import { examples } from '../../../quick.ts';
import { byVisitsAndEmail, datasetOf, visitors } from '../made-up.ts';

function encoded(count: number, seed: number): EncodedRows {
	const examples = visitors(count, seed, byVisitsAndEmail).map((example, row) => ({
		...example,
		numeric: Array.from(example.numeric, (value) => (row % 5 === 0 ? Number.NaN : value)),
	}));
	const dataset = inTimeOrder(datasetOf(examples), 1);
	const numbers = prepareNumbers(dataset);
	return learnEncoding(dataset, numbers).encode(dataset, numbers);
}

/**
 * Written independently from the definition: ½·strength·w² on all weights but the intercept, plus the log loss, as a
 * mean.
 */
function gradientAt(rows: EncodedRows, strength: number): number[] {
	const { weights } = fitLogistic(rows, strength);
	const logOdds = logOddsOf(rows, weights);
	let intercept = 0;
	const linear = weights.linear.map((weight) => (strength * weight) / rows.rows);
	const missing = weights.missing.map((weight) => (strength * weight) / rows.rows);
	for (let row = 0; row < rows.rows; row++) {
		const residual = (logistic(logOdds[row] as number) - (rows.labels[row] as number)) / rows.rows;
		intercept += residual;
		for (const [column, values] of rows.linear.entries()) {
			(linear[column] as number) += residual * (values[row] as number);
			if (rows.missing[column]?.includes(row)) (missing[column] as number) += residual;
		}
	}
	return [intercept, ...linear, ...missing];
}

test('at the optimum, changing any weight raises the loss', () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 100, max: 600 }),
			fc.integer(),
			fc.constantFrom(0.1, 1, 30, 1000),
			(count, seed, strength) => {
				for (const part of gradientAt(encoded(count, seed), strength))
					assert.ok(Math.abs(part) < 1e-6, `${part}`);
			},
		),
		{ numRuns: examples(20) },
	);
});

test('the fit reports convergence, in few steps', () => {
	const { converged, steps } = fitLogistic(encoded(3000, 7), 10);
	assert.ok(converged && steps < 12, `${steps} steps`);
});

test('stronger penalties give smaller weights', () => {
	const rows = encoded(2000, 3);
	const sizes = [1, 10, 100, 1000].map((strength) => {
		const { linear, missing } = fitLogistic(rows, strength).weights;
		return Math.hypot(...linear, ...missing);
	});
	assert.deepEqual(
		sizes,
		[...sizes].sort((a, b) => b - a),
	);
});

test('a single outcome does not make weights infinite', () => {
	const { weights } = fitLogistic({ ...encoded(200, 1), labels: new Uint8Array(200) }, 1);
	assert.ok([weights.intercept, ...weights.linear, ...weights.missing].every(Number.isFinite));
});
