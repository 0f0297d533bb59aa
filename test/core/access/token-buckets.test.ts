import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { TokenBuckets } from '../../../src/core/access/token-buckets.ts';
import { fullBucket, type TokenBucket, takeToken } from '../../../src/core/domain/token-bucket.ts';

const limit = fc.record({
	ratePerSecond: fc.integer({ min: 1, max: 100 }),
	burst: fc.integer({ min: 1, max: 20 }),
});

describe('TokenBuckets', () => {
	test('each name has a bucket of its own', () => {
		const steps = fc.array(fc.record({ name: fc.nat(9), passMs: fc.nat(200) }), {
			maxLength: 100,
			size: 'max',
		});
		fc.assert(
			fc.property(limit, steps, (limit, steps) => {
				const buckets = new TokenBuckets(64);
				const model = new Map<number, TokenBucket>();
				let nowMs = 1000;
				for (const { name, passMs } of steps) {
					nowMs += passMs;
					const expected = takeToken(model.get(name) ?? fullBucket(limit, nowMs), limit, nowMs);
					model.set(name, expected.bucket);
					const { granted, retryAfterMs } = expected;
					assert.deepEqual(buckets.take(`n${name}`, limit, nowMs), { granted, retryAfterMs });
				}
			}),
		);
	});

	test('a table that is full gives up the bucket that was used least recently', () => {
		const buckets = new TokenBuckets(1);
		const limit = { ratePerSecond: 0.001, burst: 1 };
		for (let name = 0; name < 16; name++) assert.ok(buckets.take(`n${name}`, limit, name).granted);
		assert.ok(!buckets.take('n0', limit, 16).granted);
		assert.ok(buckets.take('another', limit, 17).granted);
		assert.ok(!buckets.take('n0', limit, 18).granted);
		assert.ok(buckets.take('n1', limit, 19).granted, 'it starts full again');
	});
});
