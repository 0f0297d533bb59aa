import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../../../../src/core/clock.ts';
import { hourMs } from '../../../../../src/core/durations.ts';
import { DatabaseClock } from '../../../../../src/core/store/postgres/engine/database-clock.ts';

/** A database whose clock differs from this machine's by a fixed amount. */
const askFor =
	(offMs: number, tookMs = 0) =>
	async () => {
		await delay(tookMs);
		const ms = Date.now() + offMs;
		await delay(tookMs);
		return ms;
	};

/** Reads until an answer comes quickly: how well the time is known depends on how long it took. */
async function readQuickly(clock: DatabaseClock, offMs: number): Promise<void> {
	for (let tookMs = Number.POSITIVE_INFINITY; tookMs > 50; ) {
		const beganMs = monotonicMs();
		await clock.read(askFor(offMs));
		tookMs = monotonicMs() - beganMs;
	}
}

function assertOff(clock: DatabaseClock, offMs: number): void {
	const [before, now, after] = [Date.now(), clock.now(), Date.now()];
	const isNear = now >= before + offMs - 100 && now <= after + offMs + 100;
	assert.ok(isNear, `${now - before} ms off, not ${offMs}`);
	assert.ok(Number.isInteger(now));
}

/** How far the clock is ahead of the monotonic one, however long this process pauses between the two. */
function aheadMs(clock: DatabaseClock): number {
	return Math.max(...Array.from({ length: 20 }, () => clock.now() - monotonicMs()));
}

test("gives the database's time, however it steps", async () => {
	const clock = new DatabaseClock();
	for (const offMs of [0, hourMs, -hourMs, 24 * hourMs, 0]) {
		await readQuickly(clock, offMs);
		assertOff(clock, offMs);
	}
});

test('a slow answer does not make it step', async () => {
	const clock = new DatabaseClock();
	await readQuickly(clock, hourMs);
	const before = aheadMs(clock);
	await clock.read(askFor(hourMs, 100));
	assert.ok(Math.abs(aheadMs(clock) - before) < 2);
});

test('is never ahead of the database', async () => {
	const clock = new DatabaseClock();
	await clock.read(askFor(0, 50));
	assert.ok(clock.now() <= Date.now());
});

test('continues while the database cannot be read', async () => {
	const clock = new DatabaseClock();
	await readQuickly(clock, -hourMs);
	await assert.rejects(clock.read(() => Promise.reject(new Error('the database is away'))));
	assertOff(clock, -hourMs);
});
