import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	DatasetBuilder,
	featureRows,
	rangeOf,
	rowsAt,
	sampleOf,
} from '../../../../src/capabilities/training/rows/dataset.ts';
import { featureSet } from '../../../../src/core/scoring/rows/features.ts';

const features = featureSet(['visits'], ['channel']);
const example = { numeric: [1], categorical: ['email'], label: 1, atMs: 0 } as const;

test('rows keep their values, texts and visitors, in whatever order they are taken', () => {
	const builder = new DatasetBuilder(features);
	for (let row = 0; row < 10; row++)
		builder.add({ numeric: [row], categorical: [`c${row % 3}`], label: 0, atMs: row, group: `v${row % 5}` });
	const dataset = rowsAt(builder.build(), Uint32Array.of(9, 0, 4));
	assert.deepEqual([...(dataset.numeric[0] ?? [])], [9, 0, 4]);
	assert.deepEqual([...dataset.atMs], [9, 0, 4]);
	assert.deepEqual(
		[...featureRows(dataset)].map(({ categorical }) => categorical),
		[['c0'], ['c0'], ['c1']],
	);
	assert.deepEqual([...dataset.groups], [4, 0, 4]);
	assert.deepEqual([...rangeOf(dataset, 1, 3).atMs], [0, 4]);
	assert.deepEqual([...sampleOf(builder.build(), 4).atMs], [0, 2, 5, 7]);
});

test('a row that does not fit the features, or is infinite, is rejected', () => {
	const builder = new DatasetBuilder(features);
	assert.throws(() => builder.add({ ...example, numeric: [1, 2] }), /row 0 has not the values/);
	assert.throws(() => builder.add({ ...example, categorical: [] }), /row 0 has not the values/);
	assert.throws(() => builder.add({ ...example, numeric: [Infinity] }), /row 0: visits is infinite/);
	assert.equal(builder.build().rows, 0);
});
