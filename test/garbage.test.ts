import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

test('many threads may collect garbage at the same time', async () => {
	const garbage = join(import.meta.dirname, '../src/garbage.ts');
	const code = `import(${JSON.stringify(garbage)}).then(({ collectGarbage }) => { for (let time = 0; time < 30; time++) collectGarbage(); })`;
	const codes = await Promise.all(
		Array.from({ length: 4 }, async () => {
			const { promise, resolve } = Promise.withResolvers<unknown>();
			new Worker(code, { eval: true, stderr: true }).on('error', resolve).on('exit', resolve);
			return await promise;
		}),
	);
	assert.deepEqual(codes, [0, 0, 0, 0]);
});
