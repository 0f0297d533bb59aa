import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('methods other than GET and HEAD are refused', async () => {
	const service = await openAccount();
	const answer = await fetch(`${service.url}/usage`, { method: 'POST' });
	assert.equal(answer.status, 405);
	assert.equal(answer.headers.get('allow'), 'GET, HEAD');
});
