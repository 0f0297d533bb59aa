import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../../src/clock.ts';
import { hourMs } from '../../../src/durations.ts';
import { DatabaseClock } from '../../../src/store/postgres/database-clock.ts';

/** A database whose clock differs from this machine's by a fixed amount. */
const askFor =
	(offMs: number, tookMs = 0) =>
	async () => {
		await delay(tookMs);
		const ms = Date.now() + offMs;
		await delay(tookMs);
		return ms;
	};

function assertOff(clock: DatabaseClock, offMs: number, withinMs = 100): void {
	const off = clock.now() - Date.now();
	assert.ok(Math.abs(off - offMs) <= withinMs, `${off} ms off, not ${offMs}`);
	assert.ok(Number.isInteger(clock.now()));
}

test("gives the database's time, however it steps", async () => {
	const clock = new DatabaseClock();
	for (const offMs of [0, hourMs, -hourMs, 24 * hourMs, 0]) {
		await clock.read(askFor(offMs));
		assertOff(clock, offMs);
	}
});

test('a slow answer does not make it step', async () => {
	const clock = new DatabaseClock();
	await clock.read(askFor(hourMs));
	const before = clock.now() - monotonicMs();
	await clock.read(askFor(hourMs, 100));
	assert.ok(Math.abs(clock.now() - monotonicMs() - before) < 2);
});

test('is never ahead of the database', async () => {
	const clock = new DatabaseClock();
	await clock.read(askFor(0, 50));
	assert.ok(clock.now() <= Date.now());
});

test('continues while the database cannot be read', async () => {
	const clock = new DatabaseClock();
	await clock.read(askFor(-hourMs));
	await assert.rejects(clock.read(() => Promise.reject(new Error('the database is away'))));
	assertOff(clock, -hourMs);
});
