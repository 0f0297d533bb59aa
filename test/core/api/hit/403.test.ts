import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('a page of an origin that the account does not allow is refused', async () => {
	const { sendHit, store, directory, aid } = await openAccount();
	await store.control.updateAccount(aid, { origins: ['https://acme.example'] });
	await directory.refresh();
	const refused = await sendHit({}, { origin: 'https://evil.example' });
	assert.equal(refused.status, 403);
	assert.equal(await refused.text(), '{"message":"Forbidden","validationErrors":null}');
	// Readable by the page, so that the tag can say why.
	assert.equal(refused.headers.get('access-control-allow-origin'), '*');
	assert.equal(refused.headers.get('vary'), 'origin');
	const taken = await sendHit({}, { origin: 'https://acme.example' });
	assert.equal(taken.status, 200);
	assert.equal(taken.headers.get('access-control-allow-origin'), 'https://acme.example');
});
