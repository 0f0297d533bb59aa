import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askImage, assertImage, visitorsOf } from './image.ts';

test('a missing, unknown or repeated account, or too many events: an image, and nothing is stored', async () => {
	const service = await openAccount();
	const { aid } = service;
	const tooMany = `aid=${aid}${'&event=x'.repeat(21)}`;
	for (const query of ['', 'aid=c-a-unknown', `aid=${aid}&aid=${aid}`, tooMany])
		await assertImage(await askImage(service, query), 400);
	assert.equal(await visitorsOf(service), 0);
});
