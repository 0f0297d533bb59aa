import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { percentile, quantiles } from '../../../../src/core/scoring/serve/percentile.ts';

test('a percentile is close to the share of lower scores, with equal ones counting half', () => {
	fc.assert(
		fc.property(
			fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 400, maxLength: 1000 }),
			fc.double({ min: 0, max: 1, noNaN: true }),
			(scores, score) => {
				const below = scores.filter((other) => other < score).length;
				const equal = scores.filter((other) => other === score).length;
				const share = (100 * (below + equal / 2)) / scores.length;
				assert.ok(Math.abs(percentile(quantiles(scores), score) - share) <= 1);
			},
		),
	);
});

test('a higher score never has a lower percentile', () => {
	fc.assert(
		fc.property(
			fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1 }),
			fc.integer({ min: -1, max: 10 }),
			(scores, score) => {
				const grid = quantiles(scores);
				assert.ok(percentile(grid, score) <= percentile(grid, score + 1));
			},
		),
	);
});

test('a score is in the middle if all scores are equal or none is known', () => {
	assert.equal(percentile(quantiles([0.1, 0.1, 0.1]), 0.1), 50);
	assert.equal(percentile(quantiles([]), 0.1), 50);
});
