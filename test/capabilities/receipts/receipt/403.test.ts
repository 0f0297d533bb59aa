import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipt } from './ask.ts';

test('a request without a key, or from a browser, is refused', async () => {
	const service = await openAccount();
	for (const headers of [{ 'x-api-key': 'unknown' }, { origin: 'https://shop.example' }]) {
		const answer = await askReceipt(service, 'T', { headers: headers as Record<string, string> });
		assert.equal(answer.status, 403);
		assert.equal(await answer.text(), '{"message":"Forbidden","validationErrors":null}');
		assert.equal(answer.headers.get('access-control-allow-origin'), null);
	}
});
