import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uploadsKilled } from './proof/uploads-killed.ts';
import { temporaryFolder } from './support.ts';

test('of 200 concurrent uploads whose clients may die, acknowledged ones are stored, and none partially', async (t) => {
	const { acknowledged, killedHalfWay } = await uploadsKilled({ folder: temporaryFolder(t), uploads: 200 });
	assert.deepEqual({ acknowledged, killedHalfWay }, { acknowledged: 100, killedHalfWay: 50 });
});
