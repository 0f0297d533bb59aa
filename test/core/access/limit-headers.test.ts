import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ratePolicy, rateRemaining } from '../../../src/core/access/limit-headers.ts';
import { LocalRateLimiter } from '../../../src/core/access/rate-limit.ts';
import { standardPlan } from '../../../src/core/domain/usage-plan.ts';
import type { KnownKey } from '../../../src/core/store/control/control-store.ts';

const keyOf = (limit: { ratePerSecond: number; burst: number }): KnownKey => ({
	id: 'key',
	clientId: 1,
	client: 'acme',
	scope: 'upload',
	expiresAtMs: Number.POSITIVE_INFINITY,
	plan: { ...standardPlan, ...limit },
});

const numberIn = (name: string, text: string) => {
	const found = new RegExp(`;${name}=(\\d{1,15})(?=;|$)`).exec(text)?.[1];
	return found === undefined ? undefined : Number(found);
};

/**
 * A client that knows nothing but the two headers: it sends while `r` says that it may, else waits as long as `t` says,
 * and where there is no `t`, for the time that the policy has for one request.
 */
function obey(
	key: KnownKey,
	requests: number,
	answerMs: number,
): { sent: number; refused: number; ms: number } {
	let nowMs = 0;
	const limiter = new LocalRateLimiter(() => nowMs);
	const policy = ratePolicy(key.plan);
	const paceMs = (1000 * (numberIn('w', policy) as number)) / (numberIn('q', policy) as number);
	let refused = 0;
	for (let count = 0; count < requests; count++) {
		const sentAtMs = nowMs;
		if (!(limiter.take(key) as { granted: boolean }).granted) refused++;
		const left = rateRemaining(limiter.remaining(key));
		nowMs += answerMs;
		const seconds = numberIn('t', left);
		if (numberIn('r', left) === 0)
			nowMs = Math.max(nowMs, Math.ceil(seconds === undefined ? sentAtMs + paceMs : nowMs + seconds * 1000));
	}
	return { sent: requests, refused, ms: nowMs };
}

test('on the standard plan, a client that follows the headers sends ten requests a second and none is refused', () => {
	const { refused, ms } = obey(keyOf(standardPlan), 1000, 5);
	assert.equal(refused, 0);
	assert.ok(ms <= 100_000, `1,000 requests took ${ms} ms`);
});

test('on any plan, a client that follows the headers gets at least nine tenths of its rate and is never refused', () => {
	// A client's timer has whole milliseconds, so that it loses more the faster it may be.
	const rate = fc.integer({ min: 1, max: 50_000 }).map((thousandths) => thousandths / 1000);
	fc.assert(
		fc.property(rate, fc.integer({ min: 1, max: 50 }), (ratePerSecond, burst) => {
			const requests = burst + 300;
			const { refused, ms } = obey(keyOf({ ratePerSecond, burst }), requests, 0);
			assert.equal(refused, 0);
			const possible = burst + (ms * ratePerSecond) / 1000;
			assert.ok(requests >= 0.9 * possible, `${requests} of ${possible}`);
		}),
	);
});

test('a policy has the smallest integers that express the rate', () => {
	for (const [ratePerSecond, policy] of [
		[10, '"rate";q=10;w=1'],
		[1, '"rate";q=1;w=1'],
		[0.5, '"rate";q=1;w=2'],
		[2.5, '"rate";q=5;w=2'],
		[0.7, '"rate";q=7;w=10'],
		[1 / 3, '"rate";q=1;w=3'],
		[0.01, '"rate";q=1;w=100'],
		[1_000_000, '"rate";q=1000000;w=1'],
		[1e-300, '"rate";q=1;w=999999999999999'],
	] as const)
		assert.equal(ratePolicy({ ...standardPlan, ratePerSecond }), policy);
});
