import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dataset } from '../../src/scoring/rows/dataset.ts';
import { featureSet } from '../../src/scoring/rows/features.ts';

const features = featureSet(['visits'], ['channel']);
const example = { numeric: [1], categorical: ['email'], label: 1, atMs: 0 } as const;

test('rows beyond one chunk are stored like the others', () => {
	const dataset = new Dataset(features);
	const count = 200_000;
	for (let row = 0; row < count; row++)
		dataset.add({ numeric: [row], categorical: [`c${row % 3}`], label: 0, atMs: row, group: `v${row % 5}` });
	const rows = Uint32Array.of(0, 65_535, 65_536, count - 1);
	assert.deepEqual([...dataset.numeric(0, rows)], [...rows]);
	assert.deepEqual([...dataset.atMs(rows)], [...rows]);
	assert.deepEqual(
		Array.from(dataset.categorical(0, rows), (code) => dataset.texts(0)[code]),
		['c0', 'c0', 'c1', 'c1'],
	);
	assert.deepEqual([...dataset.groups(rows)], [0, 0, 1, 4]);
	assert.equal(dataset.rows, count);
});

test('a row that does not fit the features, or is infinite, is rejected', () => {
	const dataset = new Dataset(features);
	assert.throws(() => dataset.add({ ...example, numeric: [1, 2] }), /row 0 has not the values/);
	assert.throws(() => dataset.add({ ...example, categorical: [] }), /row 0 has not the values/);
	assert.throws(() => dataset.add({ ...example, numeric: [Infinity] }), /row 0: visits is infinite/);
	assert.equal(dataset.rows, 0);
});
