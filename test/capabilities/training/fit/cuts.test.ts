import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { quantileCuts } from '../../../../src/capabilities/training/fit/cuts.ts';
import { binOf } from '../../../../src/core/scoring/model/scorer.ts';

test('cuts are increasing, lie between values, and are fewer than the bins', () => {
	fc.assert(
		fc.property(
			fc.array(fc.integer({ min: -30, max: 30 }), { maxLength: 300 }),
			fc.integer({ min: 2, max: 64 }),
			(values, bins) => {
				const cuts = quantileCuts(
					[...values].sort((a, b) => a - b),
					bins,
				);
				assert.ok(cuts.length < bins);
				for (const [index, cut] of cuts.entries()) {
					assert.ok(cut > (cuts[index - 1] ?? Number.NEGATIVE_INFINITY));
					assert.ok(!values.includes(cut));
				}
			},
		),
	);
});

test('few values get a bin each', () => {
	assert.deepEqual(quantileCuts([0, 0, 0, 0, 1, 2, 2], 10), [0.5, 1.5]);
});

test('a frequent zero leaves cuts for the other values', () => {
	const values = [...new Array<number>(800).fill(0), ...Array.from({ length: 200 }, (_, index) => index + 1)];
	const cuts = quantileCuts(values, 10);
	assert.equal(cuts[0], 0.5);
	assert.ok(cuts.length >= 8, `${cuts}`);
});

test('the bin of a number is 1 plus the cuts below it; missing is bin 0', () => {
	assert.deepEqual(
		[-5, 0, 0.5, 1, 9, Number.NaN].map((value) => binOf([0, 0.5, 2], value)),
		[1, 1, 2, 3, 4, 0],
	);
});
