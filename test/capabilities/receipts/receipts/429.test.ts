import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipts } from './ask.ts';

test('a hundred receipts use one request of the quota', async () => {
	const service = await openAccount({ quotaPerMonth: 2 });
	const body = { aid: service.aid, tids: Array(100).fill('a') };
	assert.match((await askReceipts(service, body)).headers.get('ratelimit') ?? '', /"quota";r=1;/);
	assert.equal((await askReceipts(service, body)).status, 200);
	const answer = await askReceipts(service, body);
	assert.equal(answer.status, 429);
	assert.equal(await answer.text(), '{"message":"Too Many Requests"}');
});
