import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	disableAfterMs,
	keepMessagesMs,
	parseRetryAfter,
	retryPauseMs,
	retryPausesMs,
} from '../../../src/capabilities/webhooks/retry.ts';
import { hourMs } from '../../../src/core/durations.ts';

test('retries grow from 5 s to 24 h, for three days in total', () => {
	assert.equal(retryPauseMs(1, 0), 5000);
	assert.equal(retryPauseMs(retryPausesMs.length, 0), 24 * hourMs);
	assert.equal(retryPauseMs(retryPausesMs.length + 1, 0), undefined);
	const sum = retryPausesMs.reduce((total, pause) => total + pause, 0);
	// The last attempt comes when the webhook has failed long enough to be disabled, and before its message is deleted.
	assert.ok(sum >= disableAfterMs && sum * 1.1 < keepMessagesMs);
	assert.deepEqual(
		retryPausesMs,
		retryPausesMs.toSorted((a, b) => a - b),
	);
});

test('a pause is never shorter than the schedule, and Retry-After never asks for more than a day', () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 1, max: retryPausesMs.length }),
			fc.double({ min: 0, max: 1, noNaN: true }),
			fc.integer({ min: 0, max: 1e12 }),
			(attempts, random, retryAfterMs) => {
				const pauseMs = retryPauseMs(attempts, random, retryAfterMs) ?? 0;
				const scheduledMs = retryPausesMs[attempts - 1] ?? 0;
				assert.ok(pauseMs >= scheduledMs && pauseMs >= Math.min(retryAfterMs, 24 * hourMs));
				assert.ok(pauseMs <= Math.max(scheduledMs * 1.1, 24 * hourMs) + 1);
			},
		),
	);
});

test('Retry-After is seconds or a date', () => {
	const nowMs = Date.UTC(2026, 10, 22);
	assert.equal(parseRetryAfter('120', nowMs), 120_000);
	assert.equal(parseRetryAfter(new Date(nowMs + 5000).toUTCString(), nowMs), 5000);
	assert.equal(parseRetryAfter(new Date(nowMs - 5000).toUTCString(), nowMs), 0);
	for (const value of [undefined, '', 'soon', '-3']) assert.ok((parseRetryAfter(value, nowMs) ?? 0) === 0);
});
