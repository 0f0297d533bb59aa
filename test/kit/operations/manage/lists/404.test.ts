import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../../shared-server.ts';
import { startService } from '../../../../support.ts';
import { askFor, manageKeyOf } from '../manage.ts';

test('what is about no account, or is no list, has no address', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	for (const noun of ['user', 'plan', 'key', 'client', 'visitor', 'audit', 'nothing'])
		assert.equal((await askFor(service, key, `${noun}?aid=${service.aid}`)).status, 404, noun);
});

test('a server without the role has none', async (t) => {
	const service = await startService(t, { roles: ['api', 'collect'] });
	const key = await manageKeyOf(service);
	assert.equal((await askFor(service, key, `goal?aid=${service.aid}`)).status, 404);
});
