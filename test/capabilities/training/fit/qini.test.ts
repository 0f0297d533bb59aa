import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { qini } from '../../../../src/capabilities/training/fit/qini.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { examples } from '../../../quick.ts';

const visitor = fc.record({
	lift: fc.integer({ min: 0, max: 6 }),
	treated: fc.constantFrom(0, 1),
	label: fc.constantFrom(0, 1),
});
const judged = fc
	.array(visitor, { minLength: 4, maxLength: 60 })
	.filter((all) => [0, 1].every((group) => all.some(({ treated }) => treated === group)))
	.filter((all) => all.some(({ label }) => label === 1));

function columns(all: readonly { lift: number; treated: number; label: number }[]) {
	return {
		lifts: Float64Array.from(all, ({ lift }) => lift),
		treated: Uint8Array.from(all, ({ treated }) => treated),
		labels: Uint8Array.from(all, ({ label }) => label),
	};
}

test('the coefficient is that of scikit-uplift', () => {
	// Of scikit-uplift 0.5.1: qini_auc_score(y_true, uplift, treatment).
	const known = {
		lifts: Float64Array.of(0.3, 0.2, 0.2, 0.1, 0.05, 0, -0.1, -0.1, 0.4, 0.25),
		treated: Uint8Array.of(1, 0, 1, 0, 1, 1, 0, 1, 0, 1),
		labels: Uint8Array.of(1, 0, 1, 1, 0, 0, 1, 0, 0, 1),
	};
	assert.equal(qini(known).value.toFixed(6), '0.629630');
});

test('the perfect order has 1, equal lifts have 0, and only the order counts', () => {
	fc.assert(
		fc.property(judged, (all) => {
			const { lifts, treated, labels } = columns(all);
			const perfect = lifts.map((_, row) => (labels[row] as number) * (treated[row] ? 1 : -1));
			const { value } = qini({ lifts: perfect, treated, labels });
			assert.ok(Number.isNaN(value) || Math.abs(value - 1) < 1e-9);
			const equal = qini({ lifts: lifts.map(() => 0.2), treated, labels }).value;
			assert.ok(Number.isNaN(equal) || Math.abs(equal) < 1e-9);
			const ordered = qini({ lifts, treated, labels }).value;
			assert.ok(
				Object.is(qini({ lifts: lifts.map((lift) => lift ** 3 - 5), treated, labels }).value, ordered),
			);
		}),
		{ numRuns: examples(30) },
	);
});

test('the interval of an order by chance includes zero about as often as it says', () => {
	const runs = examples(100);
	let covered = 0;
	for (let seed = 1; seed <= runs; seed++) {
		const random = seededRandom(seed);
		const draw = () => Array.from({ length: 800 }, random);
		const { low, high } = qini(
			{
				lifts: Float64Array.from(draw()),
				treated: Uint8Array.from(draw(), (lot) => (lot < 0.8 ? 1 : 0)),
				labels: Uint8Array.from(draw(), (lot) => (lot < 0.2 ? 1 : 0)),
			},
			0.9,
		);
		if (low <= 0 && 0 <= high) covered++;
	}
	assert.ok(covered / runs > 0.8, `${covered} of ${runs}`);
});
