import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { startServer } from '../../../src/server.ts';
import { eraseVisitor } from '../../../src/store/erasure.ts';
import { openStore } from '../../../src/store/open.ts';
import { PostgresPool } from '../../../src/store/postgres/connection.ts';
import { maxBehindMs, ReadReplica } from '../../../src/store/postgres/read-replica.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { assertRefused, caskadeWithin } from '../../process.ts';
import { addClient, browserUserAgent, collectLog, type HitAnswer, temporaryFolder } from '../../support.ts';
import { openFor } from '../engines.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { createDatabase, type OwnPostgres, startOwnPostgres, startReplicaOf } from './server.ts';
import { sessionOn } from './service.ts';

/** A primary and its streaming replica, for the tests of this file; they are slow to make. */
const servers = (async () => {
	const primary = await startOwnPostgres();
	return { primary, replica: await startReplicaOf(primary) };
})();
after(async () => {
	const { primary, replica } = await servers;
	await Promise.all([replica.stop(), primary.stop()]);
});

/** From now on the replica falls behind, until the test ends or the returned function is called. */
async function pauseReplay(t: TestContext): Promise<() => Promise<unknown>> {
	const { replica } = await servers;
	const client = new pg.Client({ connectionString: replica.url });
	await client.connect();
	await client.query('SELECT pg_wal_replay_pause()');
	// What is being replayed is still finished.
	await eventually('replay is paused', async () => {
		const { rows } = await client.query('SELECT pg_get_wal_replay_pause_state() AS state');
		return rows[0].state === 'paused';
	});
	const resume = () => client.query('SELECT pg_wal_replay_resume()');
	t.after(async () => {
		await resume();
		await client.end();
	});
	return resume;
}

/** The same database on another server. */
function at({ url }: OwnPostgres, address: string): string {
	const there = new URL(url);
	there.pathname = new URL(address).pathname;
	return there.href;
}

async function start(t: TestContext) {
	const { primary, replica } = await servers;
	const address = await createDatabase(primary);
	const readDatabase = at(replica, address);
	const store = await openFor(t, address);
	const { aid } = await addClient(store);
	const logged: string[] = [];
	const metricsPort = await freePort();
	const server = await startServer(
		await openStore(address, { readDatabase }),
		{ host: '127.0.0.1', port: 0, metricsHost: '127.0.0.1', metricsPort },
		collectLog(logged),
		(error) => {
			throw error;
		},
	);
	t.after(() => server.stop());
	const { id } = await store.control.account(aid);
	return {
		...{ address, store, aid, id, logged, server, replica },
		async hit(fields: object = {}, query = ''): Promise<HitAnswer> {
			const answer = await fetch(`${server.url}/hit${query}`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
				body: JSON.stringify({ aid, url: 'https://shop.example/pricing', ...fields }),
			});
			assert.equal(answer.status, 200);
			return (await answer.json()) as HitAnswer;
		},
		read: (cask: string) => fetch(`${server.url}/visscores?cask=${cask}`),
		async isUsed(): Promise<boolean> {
			const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
			return /^caskade_read_replica_used 1$/m.test(text);
		},
		says: (pattern: RegExp) => logged.some((line) => pattern.test(line)),
	};
}

const scoresIn = async (answer: Response) =>
	((await answer.json()) as { scores: readonly { score: number }[] }).scores;

test('reads go to the replica; what must be fresh goes to the primary', async (t) => {
	const { address, store, id, hit, read, isUsed, replica, says } = await start(t);
	await eventually('it is used', isUsed);
	assert.ok(says(/"msg":"reads go to the replica"/));
	const known = await hit();
	const reading = await openStore(address, { readDatabase: at(replica, address) });
	t.after(() => reading.close());
	const reader = reading.startReading();
	await eventually('it is replicated', async () => (await reader.visitor(id, known.vid)) !== null);

	await pauseReplay(t);
	const more = await hit({ vid: known.vid }, '?include=scores');
	assert.equal(more.vid, known.vid);
	assert.ok(Array.isArray(more.scores), 'the answer to a hit counts that hit');
	assert.equal((await reader.visitor(id, known.vid))?.hits, 1, 'as of the replica');
	assert.equal((await reader.current.visitor(id, known.vid))?.hits, 2, 'as of the primary');
	// Of whom the replica does not know yet, the primary is asked.
	const fresh = await hit();
	assert.notDeepEqual(await scoresIn(await read(fresh.cask)), []);
	assert.equal(await isUsed(), true);

	// The data is still on the replica, but nothing opens it.
	await eraseVisitor(store, id, known.vid);
	await eventually('the cask is revoked', async () => (await read(known.cask)).status === 403);
	assert.equal((await reader.visitor(id, known.vid))?.hits, 1);
});

test('a replica that is down: the primary is read, which the log and a metric say; and back', async (t) => {
	const { hit, read, isUsed, replica, says, logged } = await start(t);
	await eventually('it is used', isUsed);
	const { cask } = await hit();
	const restart = await replica.shutDown();
	assert.equal((await read(cask)).status, 200);
	await eventually('it is not used', async () => !(await isUsed()));
	assert.ok(says(/"level":"error".*"reason":".+","msg":"reads go to the primary"/), logged.join(''));
	assert.notDeepEqual(await scoresIn(await read(cask)), []);
	await restart();
	await eventually('it is used again', isUsed);
	assert.equal((await read(cask)).status, 200);
});

test('a replica that is too far behind is not used until it has caught up', async (t) => {
	const { primary, replica } = await servers;
	const clock = { nowMs: 0 };
	const pool = new PostgresPool(
		primary.url,
		{ size: 1, connectTimeoutMs: 5000, statementTimeoutMs: 5000, idleInTransactionMs: 5000 },
		() => {},
	);
	const followed = new ReadReplica(replica.url, pool, () => clock.nowMs);
	t.after(async () => {
		await followed.close();
		await pool.close();
	});
	const changes: string[] = [];
	followed.follow((isUsed, reason) => changes.push(`${isUsed} ${reason}`));
	await eventually('it is used', () => followed.isUsed);
	const resume = await pauseReplay(t);
	const writer = await sessionOn(t, primary.url);
	await writer.query('CREATE TABLE something (id integer)');
	clock.nowMs = maxBehindMs;
	assert.ok(followed.isUsed, 'the last time that it was up to date is not longer ago');
	clock.nowMs = maxBehindMs + 1;
	assert.ok(!followed.isUsed);
	await eventually('it says so', () => changes.length === 2);
	await resume();
	await eventually('it has caught up', () => followed.isUsed);
	clock.nowMs += maxBehindMs;
	await eventually('nothing was written since', () => followed.isUsed);
	await eventually('it says so', () => changes.length === 3);
	assert.deepEqual(changes, ['true ', 'false it is more than 5 s behind', 'true ']);
});

test('what is not a replica of the database is refused', async (t) => {
	const { primary } = await servers;
	const [address, other] = [await createDatabase(primary), await freshPostgresDatabase()];
	const serve = (...args: string[]) => caskadeWithin(['serve', '--port', '0', ...args]);
	assertRefused(
		await serve('--database', address, '--read-database', other),
		/is not a replica of the database that --database names\./,
	);
	assertRefused(
		await serve('--database', address, '--read-database', 'sqlite:./data'),
		/--read-database must be postgres:/,
	);
	assertRefused(
		await serve('--database', `sqlite:${temporaryFolder(t)}`, '--read-database', other),
		/--read-database needs PostgreSQL/,
	);
});
