import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipts } from './ask.ts';

test('a body that is not application/json is refused', async () => {
	const service = await openAccount();
	const answer = await askReceipts(service, '{}', { 'content-type': 'text/plain' });
	assert.equal(answer.status, 415);
});
