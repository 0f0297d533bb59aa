import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crash } from './proof/crash.ts';
import { temporaryFolder } from './support.ts';

for (const workers of [1, 2])
	test(`${workers} workers: kill -9 under load loses nothing that was acknowledged, tears nothing, and exceeds no quota`, async (t) => {
		const rounds = await crash({ folder: temporaryFolder(t), rounds: workers === 1 ? 2 : 1, workers });
		for (const { acknowledged, unanswered } of rounds) {
			assert.ok(acknowledged >= 50);
			assert.ok(unanswered > 0, 'it was killed under load');
		}
	});
