import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { realClock } from '../../client/src/clock.ts';
import { Pacer } from '../../client/src/pacer.ts';
import { ratePolicy } from '../../src/core/access/limit-headers.ts';
import { fullBucket, type RateLimit, takeToken } from '../../src/core/domain/token-bucket.ts';
import { standardPlan } from '../../src/core/domain/usage-plan.ts';
import { examples } from '../quick.ts';
import { openAccount } from '../shared-server.ts';
import { clientOf, newsletters } from './client.ts';

/** Sends requests, one after the other, to a bucket that nobody else uses. @returns how many were refused, by when */
function simulate(limit: RateLimit, requests: number, options: { stolen?: number } = {}) {
	let nowMs = 0;
	const pacer = new Pacer({ ...realClock, now: () => nowMs });
	let bucket = fullBucket(limit, 0);
	const policy = ratePolicy({ ...standardPlan, ...limit });
	const refusals: number[] = [];
	const sent: number[] = [];
	const send = () => {
		pacer.sent();
		const taken = takeToken(bucket, limit, nowMs);
		bucket = taken.bucket;
		if (!taken.granted) refusals.push(nowMs);
		sent.push(nowMs);
		const headers = new Headers({
			'ratelimit-policy': policy,
			ratelimit: `"rate";r=${Math.floor(bucket.tokens)}`,
		});
		pacer.answered({ sentAtMs: nowMs, isRefused: !taken.granted, headers });
	};
	send();
	for (let request = 1; request < requests; request++) {
		nowMs += pacer.waitMs();
		if (request === options.stolen) bucket = { ...bucket, tokens: bucket.tokens - 1 };
		send();
	}
	return { refusals, sent, seconds: nowMs / 1000 };
}

test('a client with a key of its own is never refused, and uses nearly all of the rate', () => {
	fc.assert(
		fc.property(
			fc.double({ min: 0.1, max: 100, noNaN: true }),
			fc.integer({ min: 1, max: 50 }),
			(ratePerSecond, burst) => {
				const requests = 300;
				const { refusals, seconds } = simulate({ ratePerSecond, burst }, requests);
				assert.deepEqual(refusals, []);
				assert.ok((requests - burst) / ratePerSecond >= 0.78 * seconds - 2 / ratePerSecond);
			},
		),
		{ numRuns: examples(200) },
	);
});

test('a refusal halves the pace, which recovers slowly', () => {
	const { refusals, sent } = simulate({ ratePerSecond: 10, burst: 1 }, 400, { stolen: 50 });
	assert.equal(refusals.length, 1);
	const gaps = sent.map((atMs, index) => atMs - (sent[index - 1] ?? 0));
	const wholeGap = 107;
	assert.ok(Math.abs((gaps[40] as number) - wholeGap) < 1);
	assert.ok((gaps[52] as number) > 190, `${gaps[52]}`);
	assert.ok((gaps[90] as number) > 110 && (gaps[90] as number) < 190, `${gaps[90]}`);
	assert.ok(Math.abs((gaps[390] as number) - wholeGap) < 1);
});

test('concurrent calls are spaced by the policy, including the first one', async () => {
	const service = await openAccount({ ratePerSecond: 10, burst: 1 });
	const caskade = clientOf(service);
	const startedAt = performance.now();
	const uploads = newsletters(6).map((event) => caskade.subscriptions.upload(service.aid, [event]));
	const attempts = (await Promise.all(uploads)).reduce((sum, result) => sum + result.attempts, 0);
	assert.ok(attempts <= 8, `${attempts} attempts`);
	assert.ok(performance.now() - startedAt >= 500);
});
