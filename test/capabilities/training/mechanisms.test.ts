import assert from 'node:assert/strict';
import { test } from 'node:test';
import type * as Level from '../../../src/capabilities/training/judge/level.ts';
import { importWithout, linesOf, mechanisms, patched, sourceOf } from '../../proof/mechanisms.ts';

test('every mechanism can be left out of the code as it is, and has lines', () => {
	for (const mechanism of mechanisms) {
		const sources = new Map<string, string>();
		for (const patch of mechanism.patches)
			sources.set(patch.file, patched(sources.get(patch.file) ?? sourceOf(patch.file), patch));
		assert.ok(linesOf(mechanism) > 0, mechanism.name);
	}
});

test('what is left out is left out of modules that are imported for it, and of no others', async () => {
	const path = '../../src/capabilities/training/judge/level.ts';
	const shiftsBy = async (mechanism?: string) => {
		const { levelShifts } = await importWithout<typeof Level>(
			path,
			mechanisms.find(({ name }) => name === mechanism),
		);
		const rows = { labels: Uint8Array.of(1, 0, 1, 1), groups: Uint32Array.of(0, 1, 2, 3) };
		return levelShifts([Uint32Array.of(0, 1, 2, 3)], new Float64Array(4), rows);
	};
	const whole = await shiftsBy();
	assert.ok((whole[0] as number) > 1);
	assert.deepEqual(await shiftsBy('level'), [0]);
	assert.deepEqual(await shiftsBy(), whole);
});
