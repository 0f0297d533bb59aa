import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestCounter } from '../../../src/core/access/request-counter.ts';
import type { RequestCounts } from '../../../src/core/store/control/control-store.ts';

test('however many requests there are, uses are recorded every five seconds, the latest of each key', async (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const told: RequestCounts['keyUses'][] = [];
	const counter = new RequestCounter(async ({ keyUses }) => void told.push(keyUses), assert.ifError);
	for (let atMs = 1; atMs <= 1000; atMs++) counter.useKey(atMs % 2 === 0 ? 'even' : 'odd', atMs);
	t.mock.timers.tick(4_999);
	assert.deepEqual(told, []);
	t.mock.timers.tick(1);
	const latest = [
		{ keyId: 'odd', atMs: 999 },
		{ keyId: 'even', atMs: 1000 },
	];
	assert.deepEqual(told, [latest]);
	t.mock.timers.tick(15_000);
	assert.equal(told.length, 1, 'nothing was used since');
	counter.useKey('odd', 2000);
	await counter.stop();
	assert.deepEqual(told, [latest, [{ keyId: 'odd', atMs: 2000 }]]);
	t.mock.timers.tick(5_000);
	assert.equal(told.length, 2);
});

test('what could not be recorded is recorded next time, unless there is a later use', async () => {
	const told: RequestCounts['keyUses'][] = [];
	const errors: unknown[] = [];
	let fails = true;
	const counter = new RequestCounter(
		async ({ keyUses }) => {
			if (fails) throw new Error('the disk is full');
			told.push(keyUses);
		},
		(error) => errors.push(error),
	);
	counter.useKey('a', 1);
	counter.useKey('b', 1);
	await counter.stop();
	assert.match(String(errors), /the disk is full/);
	fails = false;
	counter.useKey('b', 2);
	await counter.stop();
	assert.deepEqual(told, [
		[
			{ keyId: 'a', atMs: 1 },
			{ keyId: 'b', atMs: 2 },
		],
	]);
});
