import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../shared-server.ts';
import { event } from '../../support.ts';
import { askUsage } from './ask.ts';

test('a key that asks too often is refused; its uploads and other keys are not', async () => {
	const service = await openAccount();
	const other = await openAccount();
	const answers = await Promise.all(Array.from({ length: 20 }, () => askUsage(service)));
	const refused = answers.filter(({ status }) => status === 429);
	assert.ok(refused.length >= 5, `${refused.length} were refused`);
	assert.ok(refused.length <= 10);
	assert.equal(refused[0]?.headers.get('retry-after'), '1');
	assert.equal(await refused[0]?.text(), '{"message":"Rate limit exceeded.","validationErrors":null}');
	assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 201);
	assert.equal((await askUsage(service, { 'x-api-key': other.key })).status, 200);
});
