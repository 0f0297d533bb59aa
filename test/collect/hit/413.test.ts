import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../support.ts';

test('16 KiB are taken, one byte more is not', async (t) => {
	const { sendHit, aid } = await startService(t);
	const ofSize = (bytes: number) => JSON.stringify({ aid }).padEnd(bytes);
	assert.equal((await sendHit(ofSize(16_384))).status, 200);
	const answer = await sendHit(ofSize(16_385));
	assert.equal(answer.status, 413);
	assert.match(await answer.text(), /at most 16384 bytes/);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
});
