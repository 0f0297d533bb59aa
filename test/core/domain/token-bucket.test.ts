import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fullBucket, type RateLimit, takeToken } from '../../../src/core/domain/token-bucket.ts';

const limitArbitrary: fc.Arbitrary<RateLimit> = fc.record({
	ratePerSecond: fc.oneof(
		fc.integer({ min: 1, max: 10_000 }),
		fc.double({ min: 0.001, max: 10_000, noNaN: true }),
	),
	burst: fc.integer({ min: 1, max: 50 }),
});

/** Times between requests: often none at all, often about as long as a token takes, now and then very long. */
const gapsArbitrary = fc.array(
	fc.oneof(
		fc.constant(0),
		fc.double({ min: 0, max: 200, noNaN: true }),
		fc.integer({ min: 0, max: 100_000 }),
	),
	{ minLength: 1, maxLength: 100, size: 'max' },
);

/** Computing with binary fractions is off by this much at most, in tokens. */
const epsilon = 1e-6;

/** When requests come, and which are let in. */
function run(
	limit: RateLimit,
	gapsMs: readonly number[],
	startMs = 1000,
): { atMs: number; granted: boolean }[] {
	let nowMs = startMs;
	let bucket = fullBucket(limit, nowMs);
	return gapsMs.map((gapMs) => {
		nowMs += gapMs;
		const taken = takeToken(bucket, limit, nowMs);
		bucket = taken.bucket;
		return { atMs: nowMs, granted: taken.granted };
	});
}

test('the limits of the spec: one request in 100 ms, no saving up', () => {
	const limit = { ratePerSecond: 10, burst: 1 };
	const granted = run(limit, [0, 0, 50, 50, 99, 1, 10_000, 0, 0]).map((request) => request.granted);
	assert.deepEqual(granted, [true, false, false, true, false, true, true, false, false]);
});

test('grants at most rate × seconds + burst over any window', () => {
	fc.assert(
		fc.property(limitArbitrary, gapsArbitrary, (limit, gapsMs) => {
			const times = run(limit, gapsMs)
				.filter(({ granted }) => granted)
				.map(({ atMs }) => atMs);
			for (const [first, fromMs] of times.entries())
				for (const [last, untilMs] of times.entries().drop(first)) {
					const most = (limit.ratePerSecond * (untilMs - fromMs)) / 1000 + limit.burst + epsilon;
					assert.ok(last - first + 1 <= most, `${last - first + 1} from ${fromMs} to ${untilMs}`);
				}
		}),
	);
});

test('grants exactly the burst at once', () => {
	fc.assert(
		fc.property(limitArbitrary, fc.nat(1e9), (limit, startMs) => {
			const requests = run(limit, new Array<number>(limit.burst + 10).fill(0), startMs);
			assert.equal(requests.filter(({ granted }) => granted).length, limit.burst);
			assert.ok(requests.slice(0, limit.burst).every(({ granted }) => granted));
		}),
	);
});

test('grants and refuses as a bucket of whole micro-tokens does', () => {
	const wholeLimit = fc.record({
		ratePerSecond: fc.integer({ min: 1, max: 1000 }),
		burst: fc.integer({ min: 1, max: 20 }),
	});
	fc.assert(
		fc.property(
			wholeLimit,
			fc.array(fc.nat(2000), { minLength: 1, maxLength: 100, size: 'max' }),
			(limit, gapsMs) => {
				// A millisecond brings rate × 1,000 of the 1,000,000 micro-tokens that a request costs: no fractions.
				const capacity = BigInt(limit.burst) * 1_000_000n;
				let model = capacity;
				for (const [index, { granted }] of run(limit, gapsMs).entries()) {
					model += BigInt(gapsMs[index] as number) * BigInt(limit.ratePerSecond) * 1000n;
					if (model > capacity) model = capacity;
					// Where the model has exactly one token, the fraction beside it may be a hair less.
					if (model !== 1_000_000n) assert.equal(granted, model > 1_000_000n);
					if (granted) model -= 1_000_000n;
				}
			},
		),
	);
});

test('a refused request is granted after the stated wait', () => {
	fc.assert(
		fc.property(limitArbitrary, gapsArbitrary, (limit, gapsMs) => {
			let nowMs = 0;
			let bucket = fullBucket(limit, nowMs);
			for (const gapMs of gapsMs) {
				nowMs += gapMs;
				const taken = takeToken(bucket, limit, nowMs);
				bucket = taken.bucket;
				if (taken.granted) {
					assert.equal(taken.retryAfterMs, 0);
					continue;
				}
				assert.ok(taken.retryAfterMs > 0 && taken.retryAfterMs <= 1000 / limit.ratePerSecond);
				// No client waits to the microsecond.
				assert.ok(
					takeToken(
						bucket,
						limit,
						nowMs + taken.retryAfterMs + 0.001 + epsilon * (1000 / limit.ratePerSecond),
					).granted,
				);
				const early = nowMs + taken.retryAfterMs * 0.999;
				assert.ok(
					taken.retryAfterMs * limit.ratePerSecond < 0.01 || !takeToken(bucket, limit, early).granted,
				);
			}
		}),
	);
});

test('a refused request costs nothing', () => {
	const limit = { ratePerSecond: 10, burst: 1 };
	const bucket = takeToken(fullBucket(limit, 0), limit, 0).bucket;
	let asked = bucket;
	for (let nowMs = 1; nowMs < 100; nowMs++) asked = takeToken(asked, limit, nowMs).bucket;
	assert.equal(takeToken(asked, limit, 101).granted, true);
});

test('a clock that stands still or goes back refills nothing', () => {
	fc.assert(
		fc.property(
			limitArbitrary,
			fc.array(fc.integer({ min: -100_000, max: 0 }), { minLength: 60, maxLength: 100 }),
			(limit, gapsMs) => {
				const granted = run(limit, gapsMs, 1e9).filter((request) => request.granted).length;
				assert.equal(granted, limit.burst);
			},
		),
	);
});

test('a clock that goes back and forth creates no tokens', () => {
	const limit = { ratePerSecond: 10, burst: 1 };
	const gapsMs = Array.from({ length: 100 }, (_, index) => (index % 2 ? 100 : -100));
	assert.equal(run(limit, gapsMs).filter(({ granted }) => granted).length, 1);
});

test('a changed plan applies from the next request on', () => {
	const roomy = { ratePerSecond: 10, burst: 100 };
	const strict = { ratePerSecond: 1, burst: 1 };
	const first = takeToken(fullBucket(roomy, 0), strict, 0);
	assert.equal(first.granted, true);
	assert.equal(takeToken(first.bucket, strict, 0).granted, false);
	assert.equal(takeToken(first.bucket, strict, 1000).granted, true);
});
