import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type EncodedRows, encodeRows } from '../../src/scoring/fit/encoded-rows.ts';
import { fitEncoding } from '../../src/scoring/fit/encoding.ts';
import { fitLogistic, logOddsOf } from '../../src/scoring/fit/logistic.ts';
import { logistic } from '../../src/scoring/fit/measure.ts';
import { byVisitsAndEmail, datasetOf, visitors } from './made-up.ts';

function encoded(count: number, seed: number): EncodedRows {
	const dataset = datasetOf(visitors(count, seed, byVisitsAndEmail));
	const order = dataset.inTimeOrder(1);
	return encodeRows(dataset, order, fitEncoding(dataset, order), true);
}

/**
 * Written independently from the definition: ½·strength·w² on all weights but the intercept, plus the log loss, as a
 * mean.
 */
function gradientAt(
	rows: EncodedRows,
	strength: number,
): { intercept: number; linear: number[]; slots: number[][] } {
	const { weights } = fitLogistic(rows, strength);
	const logOdds = logOddsOf(rows, weights);
	const gradient = {
		intercept: 0,
		linear: weights.linear.map((weight) => (strength * weight) / rows.rows),
		slots: weights.slots.map((values) => values.map((weight) => (strength * weight) / rows.rows)),
	};
	for (let row = 0; row < rows.rows; row++) {
		const residual = (logistic(logOdds[row] as number) - (rows.labels[row] as number)) / rows.rows;
		gradient.intercept += residual;
		for (const [column, values] of rows.linear.entries()) {
			(gradient.linear[column] as number) += residual * (values[row] as number);
			const slots = gradient.slots[column] as number[];
			(slots[rows.slots[column]?.[row] as number] as number) += residual;
		}
	}
	return gradient;
}

test('at the optimum, changing any weight raises the loss', () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 100, max: 600 }),
			fc.integer(),
			fc.constantFrom(0.1, 1, 30, 1000),
			(count, seed, strength) => {
				const gradient = gradientAt(encoded(count, seed), strength);
				for (const part of [gradient.intercept, ...gradient.linear, ...gradient.slots.flat()])
					assert.ok(Math.abs(part) < 1e-6, `${part}`);
			},
		),
		{ numRuns: 20 },
	);
});

test('the fit reports convergence, in few steps, and reaches the same optimum from any start', () => {
	const rows = encoded(3000, 7);
	const cold = fitLogistic(rows, 10);
	const warm = fitLogistic(rows, 10, { start: fitLogistic(rows, 1000).parameters });
	assert.ok(cold.converged && cold.steps < 12, `${cold.steps} steps`);
	for (const [index, parameter] of cold.parameters.entries())
		assert.ok(Math.abs(parameter - (warm.parameters[index] as number)) < 1e-3);
});

test('stronger penalties give smaller weights', () => {
	const rows = encoded(2000, 3);
	const sizes = [1, 10, 100, 1000].map((strength) => {
		const { parameters } = fitLogistic(rows, strength);
		return Math.hypot(...parameters.slice(1));
	});
	assert.deepEqual(
		sizes,
		[...sizes].sort((a, b) => b - a),
	);
});

test('a single outcome does not make weights infinite', () => {
	const rows = { ...encoded(200, 1), labels: new Uint8Array(200) };
	const { parameters } = fitLogistic(rows, 1);
	assert.ok(parameters.every(Number.isFinite));
});
