import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyUses } from '../../src/access/key-uses.ts';
import type { KeyUse } from '../../src/domain/api-key.ts';

test('however many requests there are, uses are recorded once a minute, the latest of each key', async (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const told: (readonly KeyUse[])[] = [];
	const uses = new KeyUses(async (some) => void told.push(some), assert.ifError);
	for (let atMs = 1; atMs <= 1000; atMs++) uses.add(atMs % 2 === 0 ? 'even' : 'odd', atMs);
	t.mock.timers.tick(59_999);
	assert.deepEqual(told, []);
	t.mock.timers.tick(1);
	const latest = [
		{ keyId: 'odd', atMs: 999 },
		{ keyId: 'even', atMs: 1000 },
	];
	assert.deepEqual(told, [latest]);
	t.mock.timers.tick(180_000);
	assert.equal(told.length, 1, 'nothing was used since');
	uses.add('odd', 2000);
	await uses.stop();
	assert.deepEqual(told, [latest, [{ keyId: 'odd', atMs: 2000 }]]);
	t.mock.timers.tick(60_000);
	assert.equal(told.length, 2);
});

test('what could not be recorded is recorded next time, unless there is a later use', async () => {
	const told: (readonly KeyUse[])[] = [];
	const errors: unknown[] = [];
	let fails = true;
	const uses = new KeyUses(
		async (some) => {
			if (fails) throw new Error('the disk is full');
			told.push(some);
		},
		(error) => errors.push(error),
	);
	uses.add('a', 1);
	uses.add('b', 1);
	await uses.stop();
	assert.match(String(errors), /the disk is full/);
	fails = false;
	uses.add('b', 2);
	await uses.stop();
	assert.deepEqual(told, [
		[
			{ keyId: 'a', atMs: 1 },
			{ keyId: 'b', atMs: 2 },
		],
	]);
});
