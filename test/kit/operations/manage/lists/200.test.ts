import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilities } from '../../../../../src/assembly/capabilities.ts';
import { loadListing, managedActsOf } from '../../../../../src/kit/operations/manage.ts';
import { caskadeJson } from '../../../../process.ts';
import { openAccount } from '../../../../shared-server.ts';
import { temporaryFolder } from '../../../../support.ts';
import { ask, askFor, manageKeyOf } from '../manage.ts';

const listed = Object.entries(managedActsOf(capabilities)).filter(([, { isListed }]) => isListed);

test('every noun that programs may list has a list, which is an array of one account', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	assert.ok(listed.length > 0);
	for (const [noun, acts] of listed) {
		await loadListing(acts, noun);
		const answer = await askFor(service, key, `${noun}?aid=${service.aid}`);
		assert.equal(answer.status, 200, noun);
		assert.ok(answer.headers.get('ratelimit'), noun);
		assert.ok(Array.isArray(await answer.json()), noun);
	}
});

test('a list has what acts have made, without a secret', async () => {
	const service = await openAccount();
	const { aid } = service;
	const key = await manageKeyOf(service);
	const hook = { aid, url: 'https://crm.example/hook', events: 'goal.reached' };
	const created = (await (await ask(service, key, 'webhook/create', hook)).json()) as Record<string, unknown>;
	const { secret, ...shown } = created;
	assert.match(String(secret), /^whsec_/);
	const rows = async (noun: string) => (await askFor(service, key, `${noun}?aid=${aid}`)).json();
	assert.deepEqual(await rows('webhook'), [shown]);
	const identity = await ask(service, key, 'account/show-identity-secret', { aid });
	const { identitySecret } = (await identity.json()) as { identitySecret: string };
	const [account] = (await rows('account')) as [{ aid: string }];
	assert.equal(account.aid, aid);
	assert.ok(!JSON.stringify(account).includes(identitySecret));
});

test('it is what the command prints with --json', async (t) => {
	const service = await openAccount();
	const { aid, store } = service;
	const key = await manageKeyOf(service);
	const answer = await askFor(service, key, `goal?aid=${aid}`);
	const { id } = await store.control.account(aid);
	assert.deepEqual(await answer.json(), await store.control.goals(id));
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	await caskadeJson(['account', 'create', 'c-a-one', '--client', 'one', ...at]);
	const printed = (await caskadeJson(['goal', 'list', 'c-a-one', ...at])) as object[];
	assert.deepEqual(printed, await store.control.goals(id), 'an account begins with the same goals');
});
