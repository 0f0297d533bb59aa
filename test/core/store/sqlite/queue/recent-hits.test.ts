import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { rebuildAll } from '../../../../../src/capabilities/visitors/store/rebuilding.ts';
import { historyExtent, visitorHistories } from '../../../../../src/kit/reading/histories.ts';
import { visitorRecord } from '../../../../../src/kit/reading/visitor-record.ts';
import { type Engine, engines, receivedAtMs, startServingFor } from '../../engines.ts';
import { hit } from '../../made-hits.ts';

async function startWithFile(t: TestContext) {
	const serving = await startServingFor(t, engines[0] as Engine);
	const path = `${serving.address.replace('sqlite:', '')}/accounts/${serving.accountId}.sqlite`;
	/** In its own transaction, closed at once, like other writers. */
	const rows = (sql: string) => {
		const database = new DatabaseSync(path, { timeout: 1000 });
		const found = database.prepare(sql).all();
		database.close();
		return found;
	};
	const number = (sql: string) => Number(Object.values(rows(sql)[0] ?? {})[0]);
	return { ...serving, rows, number };
}

test('a visitor has about sixty recent hits at most, and all hits are read in order', async (t) => {
	const { store, writer, accountId, rows, number } = await startWithFile(t);
	const issued = await writer.storeHit(accountId, hit());
	const hits = 150;
	for (let index = 1; index < hits; index++)
		await writer.storeHit(accountId, hit({ ...issued, atMs: receivedAtMs + index }));
	const recent = number('SELECT count(*) FROM recent_hit');
	assert(recent > 0 && recent <= 260, String(recent));
	assert.equal(number('SELECT count(*) FROM hit') + recent, hits);
	const [visitor] = rows('SELECT recent FROM visitor');
	assert.equal(String(visitor?.recent).split(',').length, recent);
	const times = Array.from({ length: hits }, (_, index) => receivedAtMs + index);
	const record = await store.read(accountId, visitorRecord(issued.vid));
	assert.deepEqual(
		record?.hits.map(({ at }) => Date.parse(at)),
		times,
	);
	const [history] = await store.read(accountId, visitorHistories([issued.vid], receivedAtMs + 99));
	assert.deepEqual(
		history?.hits.map(({ atMs }) => atMs),
		times.slice(0, 100),
	);
	assert.deepEqual(await store.read(accountId, historyExtent(receivedAtMs + 99)), {
		hits: 100,
		uploads: 0,
		fromMs: receivedAtMs,
		toMs: receivedAtMs + 99,
	});
	assert.equal((await store.read(accountId, historyExtent(Number.MAX_SAFE_INTEGER))).hits, hits);
});

test('rebuilding finds recent hits that no visitor lists', async (t) => {
	const { store, writer, accountId, rows, number } = await startWithFile(t);
	const issued = await writer.storeHit(accountId, hit());
	await writer.storeHit(accountId, hit({ ...issued, atMs: receivedAtMs + 1 }));
	const before = rows('SELECT vid, profile FROM visitor');
	rows('DELETE FROM visitor');
	await rebuildAll(store, accountId);
	assert.deepEqual(rows('SELECT vid, profile FROM visitor'), before);
	assert.equal(number('SELECT count(*) FROM recent_hit'), 0);
	assert.equal(number('SELECT count(*) FROM hit'), 2);
});

test('hits of visitors with few hits are not in the index by visitor', async (t) => {
	const { writer, accountId, number } = await startWithFile(t);
	const visits = [];
	for (let index = 0; index < 300; index++) visits.push(await writer.storeHit(accountId, hit()));
	const indexed = 'SELECT count(*) FROM hit';
	assert.equal(number(indexed), 0);
	await Promise.all(
		visits.map((visit) => writer.storeHit(accountId, hit({ ...visit, atMs: receivedAtMs + 60_000 }))),
	);
	assert.equal(number(indexed), 0);
});
