import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ComparedModels, choose } from '../../../../src/capabilities/training/judge/choose.ts';
import { choiceSentences } from '../../../../src/capabilities/training/pages/report-text.ts';
import type { Recency } from '../../../../src/core/scoring/rows/recency.ts';
import { datasetOf } from '../made-up.ts';

const rows = 200;

/** A block whose rows lose so much by the logistic model, and so much by boosting. */
function block(
	number: number,
	logisticLoss: number,
	boostingLoss: number,
	{ recency = 0 as Recency, isSignal = true } = {},
): ComparedModels {
	const judged = datasetOf(
		Array.from({ length: rows }, (_, row) => ({
			numeric: [0, 0],
			categorical: [''],
			atMs: row,
			group: `${number} ${recency} ${row}`,
			recency,
			label: row % 4 === 0 ? 1 : 0,
		})),
	);
	const trial = (loss: number) => ({
		logOdds: Float64Array.from(judged.labels, (label, row) => (isSignal || row % 8 < 6 ? label : 1 - label)),
		served: new Float64Array(rows).fill(0.25),
		// As a few rows lose more than most, the mean has an interval.
		losses: Float64Array.from({ length: rows }, (_, row) => loss + (row % 10) / 1000),
	});
	return {
		judged,
		baseLosses: new Float64Array(rows).fill(0.9),
		logistic: () => trial(logisticLoss),
		boosting: (trees) => trial(trees === 5 ? boostingLoss : 1),
	};
}

test('boosting is chosen if the blocks of time agree that it is better, not by one in which the other went astray', () => {
	const chosen = (...boostingLosses: number[]) => {
		const choice = choose(boostingLosses.map((loss, number) => block(number, 0.5, loss)));
		const [sentence = ''] = choiceSentences({
			rows,
			visitors: rows,
			conversions: 50,
			convertedRows: 50,
			baseRate: 0.25,
			seed: 1,
			overlaps: false,
			kind: choice.kind,
			verdict: 'served',
			choice,
			levels: [],
			later: undefined,
			topFeatures: [],
			leaks: [],
		});
		assert.ok(choice.boostingGain.low > 0);
		return [choice.kind, choice.trees, sentence.split(', ').slice(-2).join(', ')];
	};
	const differing = (better: number) => [
		'logistic',
		5,
		`but blocks of time differ too much to tell (it gains in ${better} of 5), so the logistic model was chosen.`,
	];
	assert.deepEqual(chosen(0.51, 0.51, 0.51, 0.51, 0.1), differing(1));
	assert.deepEqual(chosen(0.499, 0.499, 0.491, 0.51, 0.34), differing(4));
	assert.deepEqual(chosen(0.49, 0.48, 0.49, 0.5, 0.47), [
		'boosting',
		5,
		'more than chance explains, so boosting was chosen.',
	]);
});

test('a clear signal is served although one unusual block lost more than the others gained, a weak one is not', () => {
	const serves = (isSignal: boolean, ...losses: number[]) => {
		const choice = choose(losses.map((loss, number) => block(number, loss, 2, { isSignal })));
		return { serves: choice.serves, isClear: choice.standardErrors > 5 };
	};
	// A row without the model loses 0.9.
	assert.deepEqual(serves(true, 0.85, 0.85, 0.85, 0.85, 0.88), { serves: true, isClear: true });
	assert.deepEqual(serves(true, 0.85, 0.85, 0.85, 0.85, 1.2), { serves: true, isClear: true });
	assert.deepEqual(serves(true, 0.85, 0.85, 0.95, 0.95, 1.2), { serves: false, isClear: true });
});

test('what is gained on visitors who are present does not hide what is lost on those who have left', () => {
	const present = [0, 1, 2].map((number) => block(number, 0.3, 2));
	const absent = (loss: number) => [0, 1, 2].map((number) => block(number, loss, 2, { recency: 2 }));
	const [good, bad] = [choose([...present, ...absent(0.85)]), choose([...present, ...absent(1)])];
	assert.deepEqual([good.serves, good.losesOn], [true, undefined]);
	assert.deepEqual([bad.serves, bad.losesOn], [false, 'absent']);
});
