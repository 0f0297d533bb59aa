import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../../shared-server.ts';
import { askFor, manageKeyOf } from '../manage.ts';

test('a key that is for something else lists nothing, and neither do browsers', async () => {
	const service = await openAccount();
	const of = `goal?aid=${service.aid}`;
	for (const key of [service.key, await manageKeyOf(service, 'read'), 'caskade_key_nothing'])
		assert.equal((await askFor(service, key, of)).status, 403);
	const headers = { 'x-api-key': await manageKeyOf(service), origin: 'https://shop.example' };
	const answer = await fetch(`${service.url}/manage/${of}`, { headers });
	assert.equal(answer.headers.get('access-control-allow-origin'), null, 'no page may read the answer');
});
