import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../support.ts';

test('names every field that is wrong, and stores nothing', async (t) => {
	const { sendHit, store, aid } = await startService(t);
	const answer = await sendHit({ title: 1, events: [{ name: 'a' }, { tid: 'b', currency: 'gbp' }] });
	assert.equal(answer.status, 400);
	const { message, validationErrors } = (await answer.json()) as Record<string, string>;
	assert.equal(message, 'Error storing hit.');
	for (const field of ['title must be', 'events[1].name is required', 'events[1].currency must be'])
		assert.ok(validationErrors?.includes(field), field);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, (reader) => reader.countVisitors()), 0);
});

test('no JSON, and an account that there is not', async (t) => {
	const { sendHit } = await startService(t);
	const text = async (body: unknown) => {
		const answer = await sendHit(body);
		assert.equal(answer.status, 400);
		return answer.text();
	};
	assert.match(await text('{'), /^\{"message":"Malformed JSON\."/);
	assert.match(await text('[]'), /the body must be an object/);
	assert.match(await text({ aid: 'c-a-unknown' }), /"validationErrors":"Invalid account"\}$/);
});
