import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { visitorHistories } from '../../../../src/kit/reading/histories.ts';
import {
	type Engine,
	engines,
	receivedAtMs,
	startServingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { hit } from '../made-hits.ts';

const [sqlite] = engines as [Engine];

test('neither a vid that sends hits for months nor a subid of everybody makes histories long', async (t) => {
	const { store, writer, accountId, address } = await startServingFor(t, sqlite);
	const { vid, sid } = await writer.storeHit(accountId, hit({}, { cid: 'customer' }));
	const other = await writer.storeHit(accountId, hit());
	await upload(writer, accountId, [subscriptionEvent({ tid: 'first', cid: 'customer', subid: 'everybody' })]);
	const database = new DatabaseSync(`${address.replace('sqlite:', '')}/accounts/${accountId}.sqlite`);
	const numbers = (count: number) =>
		`WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${count})`;
	database.exec(
		`${numbers(20_000)} INSERT INTO hit (vid, sid, at, body)
		SELECT '${vid}', '${sid}', ${receivedAtMs} + n, (SELECT body FROM recent_hit LIMIT 1) FROM number`,
	);
	database.exec(
		`${numbers(10_001)} INSERT INTO subscription_event (tid, subid, evt, rvn, received_at, vid, named)
		SELECT 't' || n, 'everybody', 'renewal', 100, ${receivedAtMs} + n, '${vid}', 0 FROM number`,
	);
	// Strangers who show the customer's id later own nothing of theirs.
	database.exec(
		`${numbers(10_001)} INSERT INTO claim (key, at, vid)
		SELECT 'c:customer', ${receivedAtMs} + n, printf('f%031x', n) FROM number`,
	);
	database.exec(
		`${numbers(10_001)} INSERT INTO claim (key, at, vid) SELECT 'c:other-' || n, ${receivedAtMs}, '${other.vid}' FROM number`,
	);
	database.close();
	// Whoever is read with it, and in however few statements.
	const [early] = await store.read(accountId, visitorHistories([vid], receivedAtMs + 6000));
	assert.deepEqual([early?.hits.length, early?.hits.at(-1)?.atMs], [5000, receivedAtMs + 6000]);
	const histories = await store.read(accountId, visitorHistories([vid, other.vid], Number.MAX_SAFE_INTEGER));
	const [crowded, ordinary] = histories;
	assert.deepEqual([crowded?.hits.length, crowded?.hits.at(-1)?.atMs], [5000, receivedAtMs + 20_000]);
	assert.deepEqual([crowded?.events.length, crowded?.events[0]?.entry.tid], [501, 'first']);
	assert.deepEqual([ordinary?.hits.length, ordinary?.events.length], [1, 0]);
});
