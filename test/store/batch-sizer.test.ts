import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchSizer } from '../../src/store/batch-sizer.ts';

/** Runs transactions that take a fixed time per item. @returns their durations */
async function run(
	batchSizer: BatchSizer,
	clock: { ms: number },
	msEach: number,
	times: number,
): Promise<number[]> {
	const took: number[] = [];
	for (let time = 0; time < times; time++) {
		const ms = batchSizer.size * msEach;
		took.push(ms);
		await batchSizer.run(async () => {
			clock.ms += ms;
		});
	}
	return took;
}

test('transactions converge to 15 ms, whatever an item costs', async () => {
	for (const msEach of [0.02, 0.1, 1, 4]) {
		const clock = { ms: 0 };
		const batchSizer = new BatchSizer({ initial: 50, max: 2500 }, () => clock.ms);
		const took = (await run(batchSizer, clock, msEach, 12)).slice(1);
		assert(Math.max(...took) <= 20, `${msEach}: ${took}`);
		assert(Math.min(...took.slice(8)) > 10, `${msEach}: ${took}`);
	}
});

test('a slow transaction shrinks the next batch at once, never below one', async () => {
	const clock = { ms: 0 };
	const batchSizer = new BatchSizer({ initial: 1000, max: 2500 }, () => clock.ms);
	await run(batchSizer, clock, 0.5, 1);
	assert.equal(batchSizer.size, 30);
	await run(batchSizer, clock, 1000, 2);
	assert.equal(batchSizer.size, 1);
});
