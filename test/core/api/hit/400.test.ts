import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { openAccount } from '../../../shared-server.ts';

test('names every invalid field where nothing can be stored, and stores nothing', async () => {
	const { sendHit, store, aid } = await openAccount();
	const many = Array.from({ length: 21 }, () => ({ name: 'a' }));
	const answer = await sendHit({ title: {}, events: many });
	assert.equal(answer.status, 400);
	const { message, validationErrors } = (await answer.json()) as Record<string, string>;
	assert.equal(message, 'Error storing hit.');
	for (const field of ['title must be', 'events must be an array of at most 20 events'])
		assert.ok(validationErrors?.includes(field), field);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, countVisitors()), 0);
});

test('invalid JSON, or an unknown account', async () => {
	const { sendHit } = await openAccount();
	const text = async (body: unknown) => {
		const answer = await sendHit(body);
		assert.equal(answer.status, 400);
		return answer.text();
	};
	assert.match(await text('{'), /^\{"message":"Malformed JSON\."/);
	assert.match(await text('[]'), /the body must be an object/);
	assert.match(await text({ aid: 'c-a-unknown' }), /"validationErrors":"Invalid account"\}$/);
});

test('20 events are accepted, 21 are not', async () => {
	const { sendHit } = await openAccount();
	const events = (count: number) => Array.from({ length: count }, () => ({ name: 'seen' }));
	assert.equal((await sendHit({ events: events(20) })).status, 200);
	const answer = await sendHit({ events: events(21) });
	assert.equal(answer.status, 400);
	assert.equal(
		await answer.text(),
		'{"message":"Error storing hit.","validationErrors":"events must be an array of at most 20 events"}',
	);
});

test("pages of the named account's origins may read the error", async () => {
	const { sendHit, store, directory, aid } = await openAccount();
	await store.control.updateAccount(aid, { origins: ['https://acme.example'] });
	await directory.refresh();
	const readableBy = async (origin: string, body: unknown) => {
		const answer = await sendHit(body, { origin });
		assert.equal(answer.status, 400);
		return answer.headers.get('access-control-allow-origin');
	};
	const wrong = { events: Array.from({ length: 21 }, () => ({ name: 'seen' })) };
	assert.equal(await readableBy('https://acme.example', wrong), 'https://acme.example');
	assert.equal(await readableBy('https://evil.example', wrong), null);
	for (const nameless of [{ aid: 'c-a-unknown' }, { aid: [aid] }, { aid: null }, 'null', '[]', '{'])
		assert.equal(await readableBy('https://evil.example', nameless), '*');
});
