import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../support.ts';
import { askReceipts } from './ask.ts';

test('a body that is not application/json is refused', async (t) => {
	const service = await startService(t);
	const answer = await askReceipts(service, '{}', { 'content-type': 'text/plain' });
	assert.equal(answer.status, 415);
});
