import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { LocalRateLimiter, SharedRateLimiter } from '../../../src/core/access/rate-limit.ts';
import {
	fullBucket,
	type RateLimit,
	type TokenBucket,
	takeToken,
} from '../../../src/core/domain/token-bucket.ts';
import { standardPlan, type UsagePlan } from '../../../src/core/domain/usage-plan.ts';
import { QueueFullError } from '../../../src/core/errors.ts';
import type { KnownKey } from '../../../src/core/store/control/control-store.ts';
import type { TokenLedger } from '../../../src/core/store/serving.ts';
import { examples } from '../../quick.ts';

const keyWith = (limit: RateLimit, id = 'key'): KnownKey => ({
	id,
	clientId: 1,
	client: 'acme',
	scope: 'upload',
	expiresAtMs: Number.POSITIVE_INFINITY,
	plan: { ...standardPlan, ...limit },
});

/** Computing with binary fractions is off by this much at most, in tokens. */
const epsilon = 1e-6;

/**
 * A ledger as the database is one: it decides by its own clock, and its answers are under way until the test lets
 * them arrive.
 */
class SlowLedger implements TokenLedger {
	nowMs = 0;
	granted = 0;
	asked = 0;
	readonly #buckets = new Map<string, TokenBucket>();
	readonly #underWay: (() => void)[] = [];

	takeTokens(keyId: string, plan: UsagePlan, wanted: number) {
		this.asked++;
		return new Promise<{ granted: number; tokens: number }>((resolve) => {
			const answer = this.#decide(keyId, plan, wanted);
			this.#underWay.push(() => resolve(answer));
		});
	}

	#decide(keyId: string, plan: UsagePlan, wanted: number): { granted: number; tokens: number } {
		let bucket = this.#buckets.get(keyId) ?? fullBucket(plan, this.nowMs);
		let granted = 0;
		for (let n = 0; n < wanted; n++) {
			const taken = takeToken(bucket, plan, this.nowMs);
			bucket = taken.bucket;
			if (taken.granted) granted++;
		}
		this.#buckets.set(keyId, bucket);
		this.granted += granted;
		return { granted, tokens: bucket.tokens };
	}

	/** Lets answers arrive. @returns whether any was under way */
	async deliver(most = Number.POSITIVE_INFINITY): Promise<boolean> {
		const arriving = this.#underWay.splice(0, most);
		for (const arrive of arriving) arrive();
		await nextTurn();
		return arriving.length > 0;
	}
}

describe('SharedRateLimiter', () => {
	test('several servers grant what the ledger grants, never more than rate × time + burst, and decide every request', async () => {
		const step = fc.record({
			server: fc.nat(2),
			requests: fc.nat(5),
			passMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 })),
			deliver: fc.nat(3),
		});
		const limit = fc.record({
			ratePerSecond: fc.integer({ min: 1, max: 100 }),
			burst: fc.integer({ min: 1, max: 20 }),
		});
		await fc.assert(
			fc.asyncProperty(limit, fc.array(step, { maxLength: 40, size: 'max' }), async (limit, steps) => {
				const ledger = new SlowLedger();
				const servers = [0, 1, 2].map(() => new SharedRateLimiter(ledger, () => ledger.nowMs));
				const key = keyWith(limit);
				let requests = 0;
				let decided = 0;
				let granted = 0;
				for (const { server, requests: more, passMs, deliver } of steps) {
					for (let n = 0; n < more; n++) {
						requests++;
						Promise.resolve(servers[server]?.take(key)).then((decision) => {
							decided++;
							if (decision?.granted) granted++;
							else assert.ok((decision?.retryAfterMs ?? 0) > 0);
						});
					}
					ledger.nowMs += passMs;
					await ledger.deliver(deliver);
				}
				while (await ledger.deliver());
				assert.equal(decided, requests);
				assert.equal(granted, ledger.granted);
				assert.ok(granted <= (limit.ratePerSecond * ledger.nowMs) / 1000 + limit.burst + epsilon);
			}),
			{ numRuns: examples(200) },
		);
	});

	test('requests that arrive while the ledger is being asked form the next batch', async () => {
		const ledger = new SlowLedger();
		const limiter = new SharedRateLimiter(ledger, () => ledger.nowMs);
		const key = keyWith({ ratePerSecond: 1, burst: 100 });
		const taking = Array.from({ length: 50 }, () => limiter.take(key));
		while (await ledger.deliver());
		for (const decision of await Promise.all(taking)) assert.ok(decision.granted);
		assert.equal(ledger.asked, 2);
		assert.equal(limiter.remaining(key), 50);
	});

	test('an empty bucket is remembered until its next token', async () => {
		const ledger = new SlowLedger();
		const limiter = new SharedRateLimiter(ledger, () => ledger.nowMs);
		const key = keyWith({ ratePerSecond: 10, burst: 1 });
		const taking = Array.from({ length: 50 }, () => limiter.take(key));
		while (await ledger.deliver());
		assert.equal((await Promise.all(taking)).filter(({ granted }) => granted).length, 1);
		assert.equal(ledger.asked, 1, 'also for those who came while it was being asked');
		ledger.nowMs += 60;
		const refused = limiter.take(key);
		assert.ok(!(refused instanceof Promise) && !refused.granted);
		assert.ok(Math.abs(refused.retryAfterMs - 40) < epsilon);
		ledger.nowMs += 41;
		const next = limiter.take(key);
		while (await ledger.deliver());
		assert.ok((await next).granted);
		assert.equal(ledger.asked, 2);
	});

	test('a failing ledger rejects the waiting requests, and the next one asks again', async () => {
		let fails = true;
		const ledger: TokenLedger = {
			async takeTokens(_keyId, _plan, wanted) {
				if (fails) throw new Error('the database is away');
				return { granted: wanted, tokens: 5 };
			},
		};
		const limiter = new SharedRateLimiter(ledger, () => 0);
		const key = keyWith({ ratePerSecond: 10, burst: 10 });
		const taking = Array.from({ length: 3 }, () => limiter.take(key) as Promise<unknown>);
		for (const { status } of await Promise.allSettled(taking)) assert.equal(status, 'rejected');
		fails = false;
		assert.deepEqual(await limiter.take(key), { granted: true, retryAfterMs: 0 });
	});

	test('requests beyond the queue of a silent ledger are refused; once it answers, others may wait', async () => {
		const ledger = new SlowLedger();
		const limiter = new SharedRateLimiter(ledger, () => ledger.nowMs);
		const key = keyWith({ ratePerSecond: 1, burst: 10_000 });
		const waiting = Array.from({ length: 8192 }, () => limiter.take(key));
		await assert.rejects(limiter.take(key) as Promise<unknown>, QueueFullError);
		while (await ledger.deliver());
		for (const decision of await Promise.all(waiting)) assert.ok(decision.granted);
		const next = limiter.take(key);
		await ledger.deliver();
		assert.ok((await next).granted);
	});

	test('keys do not wait for each other', async () => {
		const ledger = new SlowLedger();
		const limiter = new SharedRateLimiter(ledger, () => ledger.nowMs);
		const [one, other] = [
			keyWith({ ratePerSecond: 1, burst: 1 }),
			keyWith({ ratePerSecond: 1, burst: 1 }, 'b'),
		];
		const taking = [limiter.take(one), limiter.take(other)];
		assert.equal(ledger.asked, 2);
		while (await ledger.deliver());
		for (const decision of await Promise.all(taking)) assert.ok(decision.granted);
	});
});

describe('LocalRateLimiter', () => {
	test('grants a burst at once, then one request per token; a refusal says when', () => {
		let nowMs = 0;
		const limiter = new LocalRateLimiter(() => nowMs);
		const key = keyWith({ ratePerSecond: 10, burst: 3 });
		assert.equal(limiter.remaining(key), 3);
		for (let n = 0; n < 3; n++) assert.ok(limiter.take(key).granted);
		assert.equal(limiter.remaining(key), 0);
		assert.deepEqual(limiter.take(key), { granted: false, retryAfterMs: 100 });
		nowMs = 100;
		assert.ok(limiter.take(key).granted);
		assert.ok(!limiter.take(key).granted);
	});

	test('each key has its own bucket', () => {
		const limiter = new LocalRateLimiter(() => 0);
		const limit = { ratePerSecond: 10, burst: 1 };
		assert.ok(limiter.take(keyWith(limit)).granted);
		assert.ok(!limiter.take(keyWith(limit)).granted);
		assert.ok(limiter.take(keyWith(limit, 'another')).granted);
	});
});
