import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { minuteMs } from '../../../../src/core/durations.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { rowsOf, select } from '../../../../src/core/store/steps.ts';
import { eventually } from '../../../eventually.ts';
import { tangle } from '../../../proof/locks.ts';
import { deadlocksOf } from '../../../proof/mixed.ts';
import { assertAsTheLogSays } from '../contract/visitors.ts';
import {
	type Engine,
	engines,
	receivedAtMs,
	startServingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { hit } from '../made-hits.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

const postgres = engines.find(({ isFolder }) => !isFolder) as Engine;

async function start(t: TestContext) {
	const serving = await startServingFor(t, postgres);
	const { store, writer, accountId, address } = serving;
	const session = await sessionOn(t, address);
	await session.query(`SET search_path = caskade_account_${accountId}`);
	const shows = async (tid: string, atMs: number) =>
		(await writer.storeHit(accountId, hit({ atMs }, { events: [{ name: 'order', tid }] }))).vid;
	const ownerOf = async (tid: string) => {
		const [row] = await store.read(
			accountId,
			rowsOf([select`vid FROM @subscription_event WHERE tid = ${tid}`]),
		);
		return row?.vid;
	};
	return { ...serving, session, shows, ownerOf };
}

test('a hit waits neither for a renewal that follows it nor for whoever loses it: that is done later', async (t) => {
	const { store, writer, accountId, session, shows, ownerOf } = await start(t);
	const events = ['T-1', 'T-2'].map((tid) => subscriptionEvent({ tid, subid: 'S-1' }));
	const first = await shows('T-1', receivedAtMs);
	await upload(writer, accountId, events);
	assert.equal(await ownerOf('T-2'), first);
	await session.query("BEGIN; SELECT FROM subscription_event WHERE tid = 'T-2' FOR UPDATE");
	const earlier = await shows('T-1', receivedAtMs - minuteMs);
	assert.deepEqual([await ownerOf('T-1'), await ownerOf('T-2')], [earlier, first]);
	await session.query(`COMMIT; BEGIN; SELECT FROM visitor WHERE vid = '${first}' FOR UPDATE`);
	const earliest = await shows('T-1', receivedAtMs - 2 * minuteMs);
	assert.deepEqual([await ownerOf('T-1'), await ownerOf('T-2')], [earliest, earliest]);
	await session.query('COMMIT');
	await foldAll(store, accountId);
	await assertAsTheLogSays(store, accountId);
});

test('an upload that the server ends because of a deadlock is stored by another attempt', async (t) => {
	const { writer, accountId, session, address } = await start(t);
	const insert = (tid: string) =>
		session.query(
			`INSERT INTO subscription_event (tid, subid, evt, rvn, received_at) VALUES ('${tid}', 'S', 'e', 0, 0)`,
		);
	// The upload, which waits first, is the one that looks for a deadlock.
	await session.query("SET deadlock_timeout = '1min'; BEGIN");
	await insert('T-2');
	const uploading = upload(writer, accountId, [
		subscriptionEvent({ tid: 'T-1' }),
		subscriptionEvent({ tid: 'T-2' }),
	]);
	const observer = await sessionOn(t, address);
	await eventually('the upload waits', async () => (await observer.query(waiting)).rowCount === 1);
	await insert('T-1');
	await session.query('ROLLBACK');
	assert.equal((await uploading).stored, 2);
	await eventually('the deadlock is counted', async () => (await deadlocksOf(address)) === 1);
});

const waiting =
	"SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

test('hits, uploads, imports, erasures, folding, retention and rebuilds at once never deadlock', async () => {
	const address = await installedPostgresDatabase();
	const { deadlocks } = await tangle({ address, seed: 1, isOver: (actions) => actions > 400 });
	assert.equal(deadlocks, 0);
});
