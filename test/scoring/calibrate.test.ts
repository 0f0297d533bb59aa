import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { calibrate, fitPlatt } from '../../src/scoring/calibrate.ts';
import { calibrationTable, expectedCalibrationError, logistic, logLoss } from '../../src/scoring/measure.ts';
import { seededRandom } from '../../src/scoring/random.ts';

const rowsArbitrary = fc
	.array(fc.tuple(fc.constantFrom(0, 1), fc.double({ min: -8, max: 8, noNaN: true })), {
		minLength: 5,
		maxLength: 150,
	})
	.map((rows) => ({
		labels: Uint8Array.from(rows, ([label]) => label),
		logOdds: Float64Array.from(rows, ([, value]) => value),
	}));

test('isotonic steps of an earlier version never swap or equate two scores', () => {
	const steps = { kind: 'isotonic', from: [-2, -1, 1.5], to: [-3, -0.5, 0.5] } as const;
	fc.assert(
		fc.property(
			fc.double({ min: -20, max: 20, noNaN: true }),
			fc.double({ min: 0.001, max: 10, noNaN: true }),
			(low, apart) => assert.ok(calibrate(steps, low) < calibrate(steps, low + apart)),
		),
	);
});

test('a calibration is finite for any outcomes', () => {
	fc.assert(
		fc.property(rowsArbitrary, ({ labels, logOdds }) => {
			for (const calibration of [fitPlatt(labels, logOdds)])
				assert.ok(Number.isFinite(calibrate(calibration, 0)));
		}),
	);
});

/** A model whose log-odds are twice too extreme, and too high by one. */
function overconfident(seed: number): { labels: Uint8Array; logOdds: Float64Array } {
	const random = seededRandom(seed);
	const logOdds = Float64Array.from({ length: 20_000 }, () => random() * 8 - 4);
	return {
		labels: Uint8Array.from(logOdds, (value) => (random() < logistic((value - 1) / 2) ? 1 : 0)),
		logOdds,
	};
}

test('Platt scaling recovers a known line', () => {
	const { labels, logOdds } = overconfident(1);
	const { intercept, slope } = fitPlatt(labels, logOdds);
	assert.ok(Math.abs(slope - 0.5) < 0.03 && Math.abs(intercept + 0.5) < 0.06, `${intercept} ${slope}`);
});

test('Platt scaling makes other rows of the same distribution more likely', () => {
	const { labels, logOdds } = overconfident(1);
	const other = overconfident(2);
	for (const calibration of [fitPlatt(labels, logOdds)]) {
		const scores = other.logOdds.map((value) => logistic(calibrate(calibration, value)));
		assert.ok(logLoss(other.labels, scores) < logLoss(other.labels, other.logOdds.map(logistic)) - 0.02);
		assert.ok(expectedCalibrationError(calibrationTable(other.labels, scores)) < 0.02, calibration.kind);
	}
});
