import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	auc,
	brierScore,
	calibrationTable,
	type Estimate,
	expectedCalibrationError,
	logLoss,
	rocCurve,
} from '../../../../src/capabilities/training/fit/measure.ts';
import { logistic } from '../../../../src/core/scoring/model/log-odds.ts';
import { seededRandom } from '../../../../src/kit/random.ts';

const scored = fc
	.array(fc.record({ label: fc.constantFrom(0, 1), score: fc.integer({ min: 0, max: 20 }) }), {
		minLength: 2,
		maxLength: 200,
	})
	.map((rows) => ({
		labels: Uint8Array.from(rows, ({ label }) => label),
		scores: Float64Array.from(rows, ({ score }) => score / 20),
	}))
	.filter(({ labels }) => labels.includes(0) && labels.includes(1));

test('AUC is the share of correctly ordered pairs, with ties counting half', () => {
	fc.assert(
		fc.property(scored, ({ labels, scores }) => {
			let [right, pairs] = [0, 0];
			for (const [a, labelA] of labels.entries())
				for (const [b, labelB] of labels.entries())
					if (labelA === 1 && labelB === 0) {
						pairs++;
						right += 0.5 + 0.5 * Math.sign((scores[a] as number) - (scores[b] as number));
					}
			const { value, low, high } = auc(labels, scores);
			assert.ok(Math.abs(value - right / pairs) < 1e-9);
			if (low !== null && high !== null) assert.ok(low <= value + 1e-12 && value <= high + 1e-12);
		}),
	);
});

test('AUC depends only on the order of scores', () => {
	fc.assert(
		fc.property(scored, ({ labels, scores }) => {
			const moved = scores.map((score) => logistic(3 * score ** 3 - 1));
			assert.ok(Math.abs(auc(labels, scores).value - auc(labels, moved).value) < 1e-12);
		}),
	);
});

test("AUC's interval contains the true value about 95 times in 100", () => {
	const random = seededRandom(5);
	const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
	// Two normal distributions, one deviation apart: the true AUC is Φ(1/√2).
	const truth = 0.76025;
	let held = 0;
	for (let round = 0; round < 400; round++) {
		const labels = Uint8Array.from({ length: 200 }, (_, row) => (row % 4 === 0 ? 1 : 0));
		const { low, high } = auc(
			labels,
			Float64Array.from(labels, (label) => normal() + label),
		);
		assert.ok(low !== null && high !== null);
		if (low <= truth && truth <= high) held++;
	}
	assert.ok(held > 365 && held < 396, `${held} of 400`);
});

test("rows of one group do not narrow AUC's interval", () => {
	const labels = Uint8Array.from({ length: 60 }, (_, row) => (row % 3 === 0 ? 1 : 0));
	const scores = Float64Array.from(labels, (label, row) => ((row * 7) % 13) / 13 + label / 4);
	const once = auc(labels, scores);
	const ten = Array.from({ length: 10 });
	const repeatedLabels = Uint8Array.from(ten.flatMap(() => [...labels]));
	const repeatedScores = Float64Array.from(ten.flatMap(() => [...scores]));
	const groups = Uint32Array.from(repeatedLabels, (_, row) => row % 60);
	const grouped = auc(repeatedLabels, repeatedScores, groups);
	assert.deepEqual(rounded(grouped), rounded(once));
	assert.ok((auc(repeatedLabels, repeatedScores).low ?? 0) > (once.low ?? 1));
});

function rounded({ low, high }: Estimate): number[] {
	return [low, high].map((end) => Number(end?.toFixed(9)));
}

test('three visitors with many rows each have no interval, nor have scores that are all right', () => {
	const labels = Uint8Array.from({ length: 600 }, (_, row) => (row < 90 ? 1 : 0));
	const scores = Float64Array.from(labels, (label, row) => (label === 1 && row > 0 ? 0.9 : 0.1 + row / 1e4));
	const groups = Uint32Array.from(labels, (label, row) => (label === 1 ? row % 3 : row));
	const { value, low, high } = auc(labels, scores, groups);
	assert.ok(value > 0.9 && value < 1);
	assert.deepEqual([low, high], [null, null]);
	assert.deepEqual(auc(labels, Float64Array.from(labels)), { value: 1, low: null, high: null });
});

test('log loss and Brier score match known values', () => {
	const labels = Uint8Array.of(1, 0);
	const scores = Float64Array.of(0.8, 0.4);
	assert.ok(Math.abs(logLoss(labels, scores) + (Math.log(0.8) + Math.log(0.6)) / 2) < 1e-12);
	assert.ok(Math.abs(brierScore(labels, scores) - (0.04 + 0.16) / 2) < 1e-12);
	assert.ok(Number.isFinite(logLoss(labels, Float64Array.of(0, 1))), 'a sure mistake has a price');
});

test('a calibration table contains every row once, and its error is the mean distance', () => {
	fc.assert(
		fc.property(scored, ({ labels, scores }) => {
			const table = calibrationTable(labels, scores);
			assert.equal(
				table.reduce((sum, { rows }) => sum + rows, 0),
				labels.length,
			);
			assert.ok(table.length <= 10 && expectedCalibrationError(table) <= 1);
			for (const [index, bin] of table.entries())
				assert.ok(bin.meanScore > (table[index - 1]?.meanScore ?? -1), 'groups do not share scores');
		}),
	);
});

test('the ROC curve rises from 0 to 1, and its area is the AUC', () => {
	fc.assert(
		fc.property(scored, ({ labels, scores }) => {
			const curve = rocCurve(labels, scores, new Float64Array(labels.length).fill(1), 1_000_000);
			let area = 0;
			for (const [index, to] of curve.entries()) {
				const from = curve[index - 1];
				if (!from) continue;
				assert.ok(to.falsePositives >= from.falsePositives && to.truePositives >= from.truePositives);
				area += ((to.truePositives + from.truePositives) / 2) * (to.falsePositives - from.falsePositives);
			}
			assert.ok(Math.abs(area - auc(labels, scores).value) < 1e-9);
		}),
	);
});
