import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchSizer, type BatchSizes } from '../../../src/core/store/batch-sizer.ts';

/** Runs transactions that take some time per item, and some besides. @returns their sizes */
async function run(
	cost: { fixedMs?: number; itemMs: number; noiseMs?: () => number },
	{ times = 16, sizes = {} }: { times?: number; sizes?: Partial<BatchSizes> } = {},
): Promise<number[]> {
	let nowMs = 0;
	const batchSizer = new BatchSizer({ initial: 50, max: 2500, ...sizes }, () => nowMs);
	const run: number[] = [];
	for (let time = 0; time < times; time++) {
		const { size } = batchSizer;
		run.push(size);
		await batchSizer.run(
			async () => {
				nowMs += (cost.fixedMs ?? 0) + size * cost.itemMs + (cost.noiseMs?.() ?? 0);
			},
			() => size,
		);
	}
	return run;
}

const largest = (sizes: readonly number[]) => Math.max(...sizes.slice(-4));

test('transactions converge to 15 ms, whatever an item costs', async () => {
	for (const itemMs of [0.02, 0.1, 1, 4]) {
		const ms = largest(await run({ itemMs })) * itemMs;
		assert.ok(ms > 10 && ms <= 20, `${itemMs}: ${ms} ms`);
	}
});

test('round trips make no batch smaller: items may take as long as the transaction does without them', async () => {
	for (const [fixedMs, itemMs, size] of [
		[10, 0.05, 300],
		[50, 0.05, 1000],
		[500, 0.05, 2500],
		[500, 5, 100],
	] as const) {
		const found = largest(await run({ fixedMs, itemMs }));
		assert.ok(found > size * 0.8 && found < size * 1.25, `${fixedMs} ms and ${itemMs}: ${found}`);
	}
});

test('transactions that had to wait do not count', async () => {
	for (const first of [0, 1, 2, 3, 4, 5, 6]) {
		let time = first;
		const noiseMs = () => (++time % 7 === 0 ? 2000 : 0);
		const sizes = await run({ fixedMs: 20, itemMs: 0.05, noiseMs }, { times: 40 });
		const some = sizes.slice(20).filter((size) => size >= 200 && size < 600);
		assert.ok(some.length >= 15, `${first}: ${sizes}`);
	}
});

test('a first transaction that has to connect first says nothing of the items', async () => {
	let runs = 0;
	const noiseMs = () => (runs++ === 0 ? 1000 : 0);
	const sizes = await run({ fixedMs: 500, itemMs: 0.05, noiseMs }, { sizes: { initial: 100, min: 20 } });
	assert.ok((sizes[6] as number) >= 800, `${sizes}`);
});

test('slow items shrink the next batch but one, never below one', async () => {
	const sizes = await run({ itemMs: 0.5 }, { sizes: { initial: 1000 } });
	assert.deepEqual(sizes.slice(0, 3), [1000, 1000, 250]);
	assert.ok(largest(await run({ itemMs: 1000 })) <= 2);
});
