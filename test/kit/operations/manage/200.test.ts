import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookEvents } from '../../../../src/capabilities/webhooks/domain/webhook.ts';
import { openAccount } from '../../../shared-server.ts';
import { ask, manageKeyOf } from './manage.ts';

test('an act is done as its command does it, and the audit log has it under the id of the key', async () => {
	const service = await openAccount();
	const { aid, store, client } = service;
	const key = await manageKeyOf(service);
	const answer = await ask(service, key, 'goal/create', {
		aid,
		name: 'trial',
		evt: ['trial'],
		horizonDays: 14,
	});
	assert.equal(answer.status, 200);
	assert.deepEqual(await answer.json(), {
		name: 'trial',
		evts: ['trial'],
		counts: 'acquisition',
		horizonDays: 14,
		mediumFrom: 50,
		highFrom: 90,
	});
	assert.ok(answer.headers.get('ratelimit'));
	const { id } = await store.control.account(aid);
	assert.ok((await store.control.goals(id)).some(({ name }) => name === 'trial'));
	const [entry] = await store.control.audit.list({ aid, limit: 1 });
	const keys = await store.control.keys(client);
	const { id: keyId } = keys.find(({ scope }) => scope === 'manage') ?? {};
	assert.deepEqual(
		{ ...entry, at: '' },
		{ at: '', who: `key ${keyId}`, action: 'goal created', aid, about: 'trial' },
	);
});

test('what is left out keeps its value, and null takes away', async () => {
	const service = await openAccount();
	const { aid, store } = service;
	const key = await manageKeyOf(service);
	const update = async (body: object) => (await ask(service, key, 'account/update', { aid, ...body })).status;
	assert.equal(
		await update({ origins: ['https://shop.example'], graceDays: ['newsletter=21'], explains: true }),
		200,
	);
	assert.equal(await update({ timezone: 'Europe/London', origins: null }), 200);
	const { origins, graceDays, timezone, explains } = await store.control.account(aid);
	assert.deepEqual(
		{ origins, graceDays, timezone, explains },
		{ origins: [], graceDays: { newsletter: 21 }, timezone: 'Europe/London', explains: true },
	);
});

test('a secret is shown once, and is not in the audit log', async () => {
	const service = await openAccount();
	const { aid, store } = service;
	const key = await manageKeyOf(service);
	const body = { aid, url: 'http://127.0.0.1:1/', events: webhookEvents[0], allowPrivate: true };
	const answer = await ask(service, key, 'webhook/create', body);
	const { secret } = (await answer.json()) as { secret: string };
	assert.match(secret, /^whsec_/);
	assert.ok(!JSON.stringify(await store.control.audit.list({ limit: 50 })).includes(secret));
});

test('the answer is what the command prints with --json', async () => {
	const service = await openAccount();
	const { aid } = service;
	const key = await manageKeyOf(service);
	const answered = async (act: string, body = {}) => (await ask(service, key, act, { aid, ...body })).json();
	const shown = (await answered('account/show-identity-secret')) as { identitySecret: string };
	assert.match(shown.identitySecret, /^caskade_identity_/);
	assert.deepEqual(shown, { aid, identitySecret: shown.identitySecret });
	assert.deepEqual(await answered('note/add', { day: '2026-03-29', text: 'A sale' }), {
		day: '2026-03-29',
		text: 'A sale',
	});
	assert.deepEqual(await answered('goal/delete', { goal: 'return' }), { deleted: 'return' });
	const vid = 'a'.repeat(32);
	const erased = (await answered('visitor/erase', { vid })) as object;
	assert.deepEqual(
		{ ...erased, revoked: 0 },
		{ aid, vids: [vid], revoked: 0, hits: 0, visits: 0, events: 0, links: 0 },
	);
});
