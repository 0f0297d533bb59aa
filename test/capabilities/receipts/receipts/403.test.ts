import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipts } from './ask.ts';

test('a request without a key, or from a browser, is refused', async () => {
	const service = await openAccount();
	const body = { aid: service.aid, tids: ['a'] };
	for (const headers of [{ 'x-api-key': 'unknown' }, { origin: 'https://shop.example' }]) {
		const answer = await askReceipts(service, body, headers as Record<string, string>);
		assert.equal(answer.status, 403);
		assert.equal(await answer.text(), '{"message":"Forbidden","validationErrors":null}');
	}
});
