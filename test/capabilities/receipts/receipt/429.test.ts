import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipt } from './ask.ts';

test('uses one request of the rate', async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 1 });
	assert.equal((await askReceipt(service, 'T')).status, 404);
	const answer = await askReceipt(service, 'T');
	assert.equal(answer.status, 429);
	assert.equal(await answer.text(), '{"message":"Rate limit exceeded.","validationErrors":null}');
	assert.ok(Number(answer.headers.get('retry-after')) > 900);
});

test('uses one request of the quota', async () => {
	const service = await openAccount({ quotaPerMonth: 1 });
	assert.equal((await askReceipt(service, 'T')).status, 404);
	const answer = await askReceipt(service, 'T');
	assert.equal(answer.status, 429);
	assert.equal(await answer.text(), '{"message":"Too Many Requests"}');
});
