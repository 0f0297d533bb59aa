import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountsInUse } from '../../../src/kit/jobs/each-account.ts';
import { addAccount, type Engine, engines, openFor } from '../../core/store/engines.ts';

const [sqlite] = engines as [Engine];

test('jobs share a list of accounts, also those that ask at the same moment, until something changes', async (t) => {
	const store = await openFor(t, await sqlite.freshAddress(t));
	const acme = await addAccount(store, 'c-a-acme-uk');
	const [one, other] = await Promise.all([accountsInUse(store), accountsInUse(store)]);
	assert.equal(one, other);
	assert.equal(await accountsInUse(store), one);
	const globex = await addAccount(store, 'c-a-globex-uk', 'globex');
	const initech = await addAccount(store, 'c-a-initech-uk', 'initech');
	await addAccount(store, 'c-a-hooli-uk', 'hooli');
	assert.deepEqual(await accountsInUse(store), [acme, globex, initech, initech + 1]);
	await store.control.setAccountDisabled('c-a-initech-uk', true);
	await store.control.setClientDisabled('hooli', true);
	assert.deepEqual(await accountsInUse(store), [acme, globex]);
	assert.deepEqual(await store.control.accountIds(), [acme, globex, initech, initech + 1]);
	t.mock.method(store.control, 'accountIds', () => Promise.reject(new Error('the disk is on fire')), {
		times: 1,
	});
	await addAccount(store, 'c-a-umbrella-uk', 'umbrella');
	await assert.rejects(accountsInUse(store), /the disk is on fire/);
	assert.equal((await accountsInUse(store)).length, 3, 'a failure is not kept');
});

test('what thousands of accounts have alike is in memory once', async (t) => {
	const store = await openFor(t, await sqlite.freshAddress(t));
	for (const name of ['acme', 'globex', 'initech']) await addAccount(store, `c-a-${name}-uk`, name);
	await store.control.updateAccount('c-a-initech-uk', { renewalDays: { plan: 30 } });
	await store.control.deleteGoal(3, 'return');
	const { accounts } = await store.control.accessSnapshot();
	const [acme, globex, initech = assert.fail()] = [...accounts.values()];
	assert.ok(acme && globex);
	for (const name of ['goals', 'segments', 'baseRates', 'cadences', 'revocations', 'renewalDays'] as const)
		assert.equal(acme[name], globex[name], name);
	for (const name of ['goals', 'cadences', 'renewalDays'] as const)
		assert.notEqual(initech[name], acme[name], name);
	assert.equal(initech.segments, acme.segments);
});
