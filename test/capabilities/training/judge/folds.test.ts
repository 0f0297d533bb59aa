import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { timeFolds } from '../../../../src/capabilities/training/judge/folds.ts';
import { inTimeOrder } from '../../../../src/capabilities/training/rows/dataset.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { byVisitsAndEmail, datasetOf, visitors } from '../made-up.ts';

test('no fold learns from a row whose outcome was unknown when its later rows begin', () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 200, max: 500 }),
			fc.integer(),
			fc.integer({ min: 0, max: 40 }),
			(count, seed, horizonMinutes) => {
				const examples = visitors(count, seed, byVisitsAndEmail);
				const dataset = datasetOf(
					examples.toSorted((a, b) => (a.numeric[1] as number) - (b.numeric[1] as number)),
				);
				for (const { earlier, judged, span, recent, overlaps } of timeFolds(
					inTimeOrder(dataset, seed),
					horizonMinutes * minuteMs,
				)) {
					const beganMs = Math.min(...judged.atMs);
					const levelMs = recent.flatMap((places) =>
						Array.from(places, (place) => span.atMs[place] as number),
					);
					for (const times of [[...earlier.atMs], levelMs])
						assert.ok(overlaps || Math.max(...times) + horizonMinutes * minuteMs <= beganMs);
				}
			},
		),
	);
});

test('the last three fifths are five blocks, each of which judges models of everything before it', () => {
	const dataset = datasetOf(visitors(500, 1, byVisitsAndEmail));
	const folds = timeFolds(inTimeOrder(dataset, 1), 0);
	assert.deepEqual(
		folds.map(({ earlier, judged }) => [earlier.rows, judged.rows]),
		[
			[200, 60],
			[260, 60],
			[320, 60],
			[380, 60],
			[440, 60],
		],
	);
});

test('a fold reports overlapping outcomes if the horizon leaves nothing else to learn from', () => {
	const dataset = datasetOf(visitors(1000, 1, byVisitsAndEmail));
	const folds = timeFolds(inTimeOrder(dataset, 1), 1e12);
	assert.ok(folds.length === 5 && folds.every(({ overlaps }) => overlaps));
	for (const { earlier, judged } of folds) {
		const learned = new Set(earlier.groups);
		assert.ok(
			judged.rows > 0 && judged.groups.every((group) => !learned.has(group)),
			'nobody is on both sides',
		);
	}
});

test('one visitor with many conversions neither teaches nor judges', () => {
	const examples = visitors(500, 1, byVisitsAndEmail).map((example, row) => ({
		...example,
		group: example.label === 1 ? 'often' : String(row),
	}));
	assert.deepEqual(timeFolds(inTimeOrder(datasetOf(examples), 1), 0), []);
});

test('rows of one time are shuffled, equally for the same seed', () => {
	const dataset = datasetOf(visitors(100, 1, byVisitsAndEmail).map((example) => ({ ...example, atMs: 0 })));
	const order = inTimeOrder(dataset, 1);
	assert.deepEqual(order, inTimeOrder(dataset, 1));
	assert.notDeepEqual(order.groups, dataset.groups);
});
