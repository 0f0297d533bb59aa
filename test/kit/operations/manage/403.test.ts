// Its operation is what a key that manages may not ask for.
import '../../../../src/capabilities/reports/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { ask, manageKeyOf } from './manage.ts';

test('a key that is for something else manages nothing, and one that manages does nothing else', async () => {
	const service = await openAccount();
	const { aid, url } = service;
	const note = { aid, day: '2026-03-29', text: 'A sale' };
	for (const key of [service.key, await manageKeyOf(service, 'read'), 'caskade_key_nothing'])
		assert.equal((await ask(service, key, 'note/add', note)).status, 403);
	const key = await manageKeyOf(service);
	assert.equal((await ask(service, key, 'note/add', note)).status, 200);
	const uploaded = await fetch(`${url}/subscription`, {
		method: 'POST',
		headers: { 'x-api-key': key, 'content-type': 'application/json' },
		body: '{}',
	});
	assert.equal(uploaded.status, 403);
	assert.equal(
		(await fetch(`${url}/reports/coverage?aid=${aid}`, { headers: { 'x-api-key': key } })).status,
		403,
	);
});

test('browsers are refused', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	const answer = await fetch(`${service.url}/manage/note/add`, {
		method: 'POST',
		headers: { 'x-api-key': key, 'content-type': 'application/json', origin: 'https://shop.example' },
		body: '{}',
	});
	assert.equal(answer.status, 403);
});
