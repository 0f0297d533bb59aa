import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askImage, assertImage, visitorsOf } from './image.ts';

test('the query parameters are the hit: they keep the visitor, and an event may start a sale', async () => {
	const service = await openAccount();
	const { hit, aid, upload } = service;
	const { vid, sid } = await hit();
	const answer = await askImage(
		service,
		`aid=${aid}&vid=${vid}&sid=${sid}&event=checkout&event=seen&tid=order-1`,
	);
	await assertImage(answer, 200);
	assert.equal(answer.headers.get('x-hit-stored'), '1');
	assert.equal(answer.headers.get('set-cookie'), null);
	assert.equal(await visitorsOf(service), 1);
	await upload({ aid, data: [{ tid: 'order-1', subid: 'order-1', evt: 'newsletter' }] });
	const { segments } = await hit({ vid, sid }, {}, '?include=segments');
	assert.deepEqual(segments?.at(-1), { id: 'subscriber', name: 'Subscribers' });
});

test('a bot gets an image, and nothing is stored', async () => {
	const service = await openAccount();
	const answer = await askImage(service, `aid=${service.aid}`, { 'user-agent': 'Googlebot/2.1' });
	await assertImage(answer, 200);
	assert.equal(answer.headers.get('x-hit-stored'), '0');
	assert.equal(await visitorsOf(service), 0);
});
