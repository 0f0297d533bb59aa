import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../../shared-server.ts';
import { ask, manageKeyOf } from '../manage.ts';

test('a list is asked for with GET', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	assert.equal((await ask(service, key, 'goal', { aid: service.aid })).status, 405);
});
