import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { openAccount } from '../../../shared-server.ts';
import { startService } from '../../../support.ts';

const newSeed = () => randomBytes(16).toString('hex');

async function visitorsOf({ store, aid }: Pick<Awaited<ReturnType<typeof openAccount>>, 'store' | 'aid'>) {
	return store.read((await store.control.account(aid)).id, countVisitors());
}

test('hits of one seed are one visitor’s, whether or not an answer has come', async () => {
	const service = await openAccount();
	const { hit } = service;
	const seed = newSeed();
	const answers = await Promise.all([1, 2, 3, 4].map(() => hit({ seed })));
	const { vid, sid } = await hit({ seed });
	for (const answer of answers) assert.deepEqual([answer.vid, answer.sid], [vid, sid]);
	assert.equal((await hit({ vid, seed })).vid, vid);
	assert.equal(await visitorsOf(service), 1);
	// The seed is not the vid, and does not give what a vid gives.
	assert.notEqual(vid, seed);
	assert.notEqual((await hit({ vid: seed })).vid, seed);
});

test('a seed names nobody else: not in another account, nor by the vid of somebody', async () => {
	const [one, other] = [await openAccount(), await openAccount()];
	const seed = newSeed();
	const { vid } = await one.hit({ seed });
	assert.notEqual((await other.hit({ seed })).vid, vid);
	assert.notEqual((await one.hit({ seed: vid })).vid, vid);
	const known = await one.hit();
	assert.equal((await one.hit({ vid: known.vid, seed })).vid, known.vid);
});

test('an invented vid gets the visitor of the seed, and a fresh one without it', async () => {
	const { hit } = await openAccount();
	const seed = newSeed();
	const { vid } = await hit({ seed });
	const invented = newSeed();
	assert.equal((await hit({ vid: invented, seed })).vid, vid);
	assert.ok(![vid, invented].includes((await hit({ vid: invented })).vid));
});

test('what is not a seed is ignored, as an unknown vid is; so is what is no text', async () => {
	const { hit } = await openAccount();
	const seed = newSeed();
	for (const invalid of [`${seed}0`, seed.slice(1), 'X'.repeat(32), 'x', '', null, 7, {}, `${seed}\n`]) {
		const [first, second] = [await hit({ seed: invalid }), await hit({ seed: invalid })];
		assert.notEqual(first.vid, second.vid, `${invalid}`);
	}
});

test('an image of a page without scripts may have the seed of a hit', async () => {
	const service = await openAccount();
	const seed = newSeed();
	const { vid } = await service.hit({ seed });
	const answer = await fetch(`${service.url}/hit.gif?aid=${service.aid}&seed=${seed}&event=seen`, {
		headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' },
	});
	assert.equal(answer.headers.get('x-hit-stored'), '1');
	assert.equal(await visitorsOf(service), 1);
	assert.equal((await service.hit({ vid })).vid, vid);
});

test('a bot with a seed is nobody', async () => {
	const service = await openAccount();
	const seed = newSeed();
	const answer = await service.sendHit({ seed }, { 'user-agent': 'Googlebot/2.1' });
	const { vid } = (await answer.json()) as { vid: string };
	assert.equal(answer.headers.get('x-hit-stored'), '0');
	assert.equal(await visitorsOf(service), 0);
	assert.notEqual((await service.hit({ seed })).vid, vid);
});

test('a seed has the budget of a visitor', async (t) => {
	const { sendHit } = await startService(t, { hitsPerVisitor: 0.1 });
	const seed = newSeed();
	assert.equal((await sendHit({ seed })).status, 200);
	assert.equal((await sendHit({ seed })).status, 429);
	assert.equal((await sendHit({ seed: newSeed() })).status, 200);
});
