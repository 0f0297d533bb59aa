import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { News } from '../../../src/core/store/news.ts';
import { addAccount, type Engine, engines, openFor, startWritingFor } from './engines.ts';
import { hit } from './made-hits.ts';

const [sqlite] = engines as [Engine];

async function start(t: TestContext) {
	const store = await openFor(t, await sqlite.freshAddress(t));
	const ids = [await addAccount(store), await addAccount(store)] as const;
	const news = new News(store);
	const named = () => news.among(ids);
	return { store, ids, news, named };
}

test('an account is named until nothing is left to do in it, and again when something is written', async (t) => {
	const { store, ids, news, named } = await start(t);
	assert.deepEqual(await named(), ids);
	for (const id of ids) news.done(id);
	assert.deepEqual(await named(), []);
	const writer = await startWritingFor(t, store);
	await writer.storeHit(ids[1], hit());
	assert.deepEqual(await named(), [ids[1]]);
	// During a visit, too.
	await writer.storeHit(ids[1], hit());
	news.done(ids[1]);
	assert.deepEqual(await named(), [ids[1]]);
	news.done(ids[1]);
	assert.deepEqual(await named(), []);
});

test('an account of which nobody can tell whether anything is new is always named', async (t) => {
	const { store, ids, news, named } = await start(t);
	store.marks = async () => new Map();
	for (const id of ids) news.done(id);
	assert.deepEqual(await named(), ids);
});
