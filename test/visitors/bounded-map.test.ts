import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from '../../src/visitors/bounded-map.ts';

test('what was used longest ago makes room', () => {
	const map = new BoundedMap<string, number>(2);
	map.set('a', 1);
	map.set('b', 2);
	assert.equal(map.get('a'), 1);
	map.set('c', 3);
	assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [1, undefined, 3]);
	map.set('c', 4);
	assert.equal(map.size, 2);
	assert.equal(map.get('c'), 4);
});

test('by weight; the latest stays whatever it weighs', () => {
	const map = new BoundedMap<string, number>(10, (value) => value);
	for (const [key, weight] of [
		['a', 4],
		['b', 5],
		['c', 3],
	] as const)
		map.set(key, weight);
	assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [undefined, 5, 3]);
	map.set('b', 7);
	assert.equal(map.size, 2);
	map.set('d', 11);
	assert.deepEqual([map.get('b'), map.get('c'), map.get('d')], [undefined, undefined, 11]);
	map.delete('d');
	map.delete('d');
	map.set('e', 10);
	map.set('f', 0);
	assert.equal(map.size, 2);
});
