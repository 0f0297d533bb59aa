import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../support.ts';
import { crash } from './crash.ts';

test('kill -9 under load loses nothing that was acknowledged, tears nothing, and exceeds no quota', async (t) => {
	for (const { acknowledged, unanswered } of await crash({ folder: temporaryFolder(t), rounds: 2 })) {
		assert.ok(acknowledged >= 50);
		assert.ok(unanswered > 0, 'it was killed under load');
	}
});
