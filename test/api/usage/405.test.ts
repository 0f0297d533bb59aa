import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../support.ts';

test('methods other than GET and HEAD are refused', async (t) => {
	const service = await startService(t);
	const answer = await fetch(`${service.url}/usage`, { method: 'POST' });
	assert.equal(answer.status, 405);
	assert.equal(answer.headers.get('allow'), 'GET, HEAD');
});
