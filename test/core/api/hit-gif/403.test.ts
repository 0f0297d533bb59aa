import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askImage, assertImage, visitorsOf } from './image.ts';

test('a page of an origin that the account does not allow is refused, if the browser sends the origin', async () => {
	const service = await openAccount();
	const { store, directory, aid } = service;
	await store.control.updateAccount(aid, { origins: ['https://acme.example'] });
	await directory.refresh();
	await assertImage(await askImage(service, `aid=${aid}`, { origin: 'https://evil.example' }), 403);
	assert.equal(await visitorsOf(service), 0);
	await assertImage(await askImage(service, `aid=${aid}`, { origin: 'https://acme.example' }), 200);
	// Browsers send no origin for an image in a page.
	await assertImage(await askImage(service, `aid=${aid}`), 200);
	assert.equal(await visitorsOf(service), 2);
});
