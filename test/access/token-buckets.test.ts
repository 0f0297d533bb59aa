import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { bucketMemory, TokenBuckets } from '../../src/access/token-buckets.ts';
import { fullBucket, type TokenBucket, takeToken } from '../../src/domain/token-bucket.ts';

const limit = fc.record({
	ratePerSecond: fc.integer({ min: 1, max: 100 }),
	burst: fc.integer({ min: 1, max: 20 }),
});

describe('TokenBuckets', () => {
	test('each name has a bucket of its own, wherever it is taken from', () => {
		const steps = fc.array(fc.record({ name: fc.nat(9), end: fc.nat(2), passMs: fc.nat(200) }), {
			maxLength: 100,
			size: 'max',
		});
		fc.assert(
			fc.property(limit, steps, (limit, steps) => {
				const memory = bucketMemory(64);
				const ends = [0, 1, 2].map(() => new TokenBuckets(memory));
				const model = new Map<number, TokenBucket>();
				let nowMs = 1000;
				for (const { name, end, passMs } of steps) {
					nowMs += passMs;
					const expected = takeToken(model.get(name) ?? fullBucket(limit, nowMs), limit, nowMs);
					model.set(name, expected.bucket);
					const { granted, retryAfterMs, tokens } = (ends[end] as TokenBuckets).take(
						`n${name}`,
						limit,
						nowMs,
					);
					assert.deepEqual(
						{ granted, retryAfterMs, tokens },
						{
							granted: expected.granted,
							retryAfterMs: expected.retryAfterMs,
							tokens: expected.bucket.tokens,
						},
					);
				}
			}),
		);
	});

	test('threads that take at the same time get exactly what there is', async () => {
		const memory = bucketMemory(1024);
		const burst = 30_000;
		const module = new URL('../../src/access/token-buckets.ts', import.meta.url).href;
		const source = `
			const { parentPort, workerData } = require('node:worker_threads');
			import(${JSON.stringify(module)}).then(({ TokenBuckets }) => {
				const buckets = new TokenBuckets(workerData.memory);
				// They begin together.
				const arrived = new Int32Array(workerData.arrived);
				Atomics.add(arrived, 0, 1);
				while (Atomics.load(arrived, 0) < 3);
				let granted = 0;
				for (let turn = 0; turn < 40000; turn++)
					if (buckets.take('n' + (turn % 3), { ratePerSecond: 1, burst: ${burst} }, 0).granted) granted++;
				parentPort.postMessage(granted);
			});`;
		const workerData = { memory, arrived: new SharedArrayBuffer(4) };
		const threads = Array.from({ length: 3 }, () => new Worker(source, { eval: true, workerData }));
		const granted = (await Promise.all(threads.map((thread) => once(thread, 'message')))).flat();
		assert.equal(
			granted.reduce((sum, count) => sum + count),
			3 * burst,
		);
	});

	test('a table that is full gives up the bucket that was used least recently', () => {
		const buckets = new TokenBuckets(bucketMemory(1));
		const limit = { ratePerSecond: 0.001, burst: 1 };
		for (let name = 0; name < 16; name++) assert.ok(buckets.take(`n${name}`, limit, name).granted);
		assert.ok(!buckets.take('n0', limit, 16).granted);
		assert.ok(buckets.take('another', limit, 17).granted);
		assert.ok(!buckets.take('n0', limit, 18).granted);
		assert.ok(buckets.take('n1', limit, 19).granted, 'it starts full again');
	});
});
