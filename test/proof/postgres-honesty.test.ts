import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Deadline } from '../../src/core/deadline.ts';
import type { StoredHit } from '../../src/core/domain/stored-hit.ts';
import { QueueFullError, StorageError } from '../../src/core/errors.ts';
import type { UploadOutcome } from '../../src/core/store/account/arriving/arriving-events.ts';
import { clientTableNames } from '../../src/core/store/account/client-tables.ts';
import { countRows } from '../../src/core/store/account/reading/rows.ts';
import {
	beginWriting,
	commitTransaction,
	isConnectionLost,
	isRolledBack,
	PostgresPool,
	SchemaNames,
} from '../../src/core/store/postgres/engine/postgres-connection.ts';
import { hitGroups, waitingHit } from '../../src/core/store/postgres/queue/hit-group.ts';
import { WriteQueue } from '../../src/core/store/postgres/queue/postgres-write-queue.ts';
import { uploadGroups } from '../../src/core/store/postgres/queue/upload-group.ts';
import { waitingUpload } from '../../src/core/store/postgres/queue/waiting-upload.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { addAccount, openFor, storedEvents, subscriptionEvent } from '../core/store/engines.ts';
import { hit } from '../core/store/made-hits.ts';
import { type CommitFault, PostgresProxy } from '../core/store/postgres/proxy.ts';
import { createDatabase, startOwnPostgres } from '../core/store/postgres/server.ts';
import {
	type Answer,
	becomes,
	type ProxiedService,
	sessionOn,
	startProxiedService,
} from '../core/store/postgres/service.ts';
import { freshPostgresDatabase, installedPostgresDatabase } from '../core/store/postgres-server.ts';
import { patience } from '../eventually.ts';
import { duplicateHeaders } from '../support.ts';
import { outages } from './postgres.ts';

const shortMs = 600;
const poolLimits = { connectTimeoutMs: 10_000, statementTimeoutMs: 5000, idleInTransactionMs: 2000 };
/** A deadline that does not expire. */
const patient = { timeoutMs: 60_000 };

const start = async (
	t: TestContext,
	plan = { timeoutMs: shortMs },
	planOfGlobex = plan,
): Promise<ProxiedService> => startProxiedService(t, await installedPostgresDatabase(), plan, planOfGlobex);

function assertTimedOut({ status, body, tookMs }: Answer, timeoutMs = shortMs): void {
	assert.equal(status, 504);
	assert.equal(body, '{"message":"Endpoint request timed out"}');
	assert.ok(tookMs >= timeoutMs - 10 && tookMs < timeoutMs * patience, `answered after ${tookMs} ms`);
}

/** Uploads the tid `after` until it is stored, then returns the stored tids. Everything before is decided by then. */
async function storedInTheEnd(service: ProxiedService, withinMs = 1000): Promise<string[]> {
	await becomes('an upload is stored again', withinMs, async () => {
		return (await service.upload(['after'])).status === 201;
	});
	await becomes('nothing waits', 1000, () => service.writer.queueDepth === 0);
	return service.stored();
}

test('the next upload does not notice that idle connections were cut', async (t) => {
	const service = await start(t, patient);
	assert.equal((await service.upload(['before'])).status, 201);
	// Whether or not this process knows of their end when it uploads.
	const waitsMs = [0, 1, 10, 100];
	for (const waitMs of waitsMs) {
		service.proxy.cut();
		await delay(waitMs);
		const { status, body } = await service.upload([`after ${waitMs} ms`]);
		assert.equal(status, 201, body);
	}
	assert.deepEqual(await service.stored(), ['before', ...waitsMs.map((waitMs) => `after ${waitMs} ms`)]);
});

test('an upload whose connection is cut before COMMIT is repeated and stored once', async (t) => {
	const service = await start(t, patient);
	const [other, watcher] = [await sessionOn(t, service.address), await sessionOn(t, service.address)];
	await other.query('BEGIN; LOCK TABLE caskade_account_1.subscription_event');
	const upload = service.upload(['a', 'b']);
	await becomes('the upload waits for the lock', 1000, async () => (await waitingForLocks(watcher)) > 0);
	service.proxy.cut();
	await other.query('ROLLBACK');
	assert.equal((await upload).status, 201);
	assert.deepEqual(await service.stored(), ['a', 'b']);
});

type Session = { query: (text: string) => Promise<{ rows: unknown[] }> };

async function waitingForLocks(session: Session): Promise<number> {
	const { rows } = await session.query(
		"SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
	);
	return rows.length;
}

test('uploads survive sessions that an administrator ends repeatedly under load', async (t) => {
	const service = await start(t, patient);
	const other = await sessionOn(t, service.address);
	const answers: { tid: string; status: number }[] = [];
	let over = false;
	const clients = Array.from({ length: 8 }, async (_, client) => {
		for (let n = 0; !over; n++) {
			const tid = `T-${client}-${n}`;
			answers.push({ tid, status: (await service.upload([tid])).status });
		}
	});
	for (let n = 0; n < 5; n++) {
		await delay(100);
		await other.query(
			'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
		);
	}
	const succeeded = () => answers.filter(({ status }) => status === 201).length;
	// How many succeed between the cuts depends on the machine; that enough do after them shows the recovery.
	await becomes('more than 20 stored', 10_000, () => succeeded() > 20);
	over = true;
	await Promise.all(clients);
	const stored = new Set(await storedInTheEnd(service));
	for (const { tid, status } of answers) assert.equal(stored.has(tid), status === 201, `${tid}: ${status}`);
	assert.ok(succeeded() > 20);
});

for (const which of ['both ways', 'answers'] as const) {
	test(`a stalled network (${which}): 504 in time, 503 from /readyz, nothing stored, and recovery`, async (t) => {
		const service = await start(t);
		await service.uploadUntilStored('before');
		service.proxy.stall(which);
		const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => service.upload([`stalled-${n}`])));
		for (const answer of answers) assertTimedOut(answer);
		await becomes('not ready', 2500, async () => !(await service.isReady()));
		service.proxy.restore();
		assert.deepEqual(await storedInTheEnd(service), ['before', 'after']);
		await becomes('ready', 1500, () => service.isReady());
	});
}

test('on a slow network uploads take longer and are stored', async (t) => {
	const service = await start(t, patient);
	service.proxy.roundTripMs = 100;
	const { status, tookMs } = await service.upload(['slow']);
	assert.equal(status, 201);
	// BEGIN and the rows, then COMMIT: 2 round trips.
	assert.ok(tookMs >= 200, `${tookMs} ms`);
	assert.deepEqual(await service.stored(), ['slow']);
});

test('connections whose other end has vanished are not handed out', async (t) => {
	const service = await start(t);
	await service.uploadUntilStored('before');
	service.proxy.vanish();
	const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => service.upload([`vanished-${n}`])));
	for (const answer of answers) assertTimedOut(answer);
	service.proxy.restore();
	// The longest time that a silent connection is trusted: a statement's 1.5 s on the server, and 0.5 s.
	assert.deepEqual(await storedInTheEnd(service, 2500), ['before', 'after']);
	await becomes('ready', 2000, () => service.isReady());
});

test('a statement on a vanished connection ends in time, and the other idle connections are cut', async (t) => {
	await using proxy = await PostgresProxy.start(await freshPostgresDatabase());
	const pool = new PostgresPool(proxy.address, { size: 3, ...poolLimits, statementTimeoutMs: 200 }, () => {});
	t.after(() => pool.end());
	const clients = await Promise.all([1, 2, 3].map(() => pool.acquire(30_000)));
	for (const client of clients) client.release();
	proxy.vanish();
	// Only existing connections have vanished.
	proxy.restore();
	await assert.rejects(pool.query('SELECT 1'), isConnectionLost);
	// The other connections are cut too: queries on a vanished one would fail.
	await Promise.all([1, 2, 3].map(() => pool.query('SELECT 1')));
});

test('a vanished network does not prevent stopping', async () => {
	await using proxy = await PostgresProxy.start(await freshPostgresDatabase());
	const pool = new PostgresPool(proxy.address, { size: 2, ...poolLimits }, () => {});
	const clients = await Promise.all([pool.acquire(30_000), pool.acquire(30_000)]);
	const closed = Promise.all(clients.map((client) => once(client, 'end')));
	for (const client of clients) client.release();
	proxy.vanish();
	await pool.end();
	// Nothing keeps the process alive.
	await closed;
});

const outcomes: Record<Exclude<CommitFault, 'lost before'>, { status: number; stored: string[] }> = {
	'cut before': { status: 503, stored: [] },
	'half-open before': { status: 503, stored: [] },
	'cut after': { status: 201, stored: ['a', 'b'] },
	'half-open after': { status: 201, stored: ['a', 'b'] },
	'denied before': { status: 503, stored: [] },
	'denied after': { status: 201, stored: ['a', 'b'] },
};
for (const [fault, { status, stored }] of Object.entries(outcomes)) {
	test(`a COMMIT with an unknown outcome (${fault}) is read back: ${status}`, async (t) => {
		const service = await start(t, patient);
		service.proxy.commitFault = fault as CommitFault;
		const answer = await service.upload(['a', 'a', 'b']);
		assert.equal(answer.status, status, answer.body);
		if (status === 201)
			assert.deepEqual(duplicateHeaders(answer), {
				duplicate: '1',
				conflicting: '1',
				duplicateRows: '1',
				conflictingRows: '1',
			});
		// Caskade waits for a COMMIT for 2 s, then its session is ended within 2 s.
		assert.ok(answer.tookMs < 5000 * patience, `${answer.tookMs} ms`);
		if (status === 503) assert.equal(answer.headers.get('retry-after'), '1');
		assert.deepEqual(await service.stored(), stored);
		assert.equal((await service.upload(['a', 'b'])).status, 201, 'a retry is safe');
		assert.deepEqual(await service.stored(), ['a', 'b']);
	});
}

/** The statements that a server refuses, in turn. */
const refusals = ['BEGIN', 'INSERT INTO', 'COMMIT'];

for (const refused of ['SET LOCAL statement_timeout =', ...refusals])
	test(`a server that refuses only ${refused}: 500, and nothing of the upload is stored`, async (t) => {
		const service = await start(t, patient);
		service.proxy.refusedStatement = refused;
		const answer = await service.upload(['a', 'b']);
		assert.equal(answer.status, 500, answer.body);
		assert.match(answer.body, /nothing is stored, retrying is safe/);
		assert.deepEqual(await service.stored(), []);
		assert.equal((await service.upload(['a', 'b'])).status, 201);
		assert.deepEqual(await service.stored(), ['a', 'b']);
	});

for (const refused of refusals)
	test(`a server that refuses only ${refused}: nothing of the hit is stored`, async (t) => {
		const { proxy, writer, store, acme } = await start(t, patient);
		const { id } = await store.control.account(acme.aid);
		const shown = hit({}, { cid: 'A', events: [{ name: 'e', tid: 't' }] });
		proxy.refusedStatement = refused;
		await assert.rejects(writer.storeHit(id, shown));
		assert.deepEqual(await rowCounts(store, id), noRows);
		await writer.storeHit(id, shown);
		assert.deepEqual(await rowCounts(store, id), {
			...noRows,
			hit: 1,
			claim: 2,
			touch: 1,
			visit: 1,
			visitor: 1,
		});
	});

const noRows = Object.fromEntries(clientTableNames.map((table) => [table, 0])) as Record<
	(typeof clientTableNames)[number],
	number
>;

async function rowCounts(store: OpenStore, accountId: number): Promise<typeof noRows> {
	const counts = { ...noRows };
	for (const table of clientTableNames) counts[table] = await store.read(accountId, countRows(table));
	return counts;
}

/** The queues on a proxied database with one account, without HTTP. */
async function startQueues(
	t: TestContext,
	{
		idleInTransactionMs = 2000,
		...options
	}: { length?: number; readBackMs?: number; idleInTransactionMs?: number },
) {
	const address = await installedPostgresDatabase();
	const store = await openFor(t, address);
	const accountId = await addAccount(store, 'c-a-acme-uk');
	const proxy = await PostgresProxy.start(address);
	const limits = { size: 2, ...poolLimits, idleInTransactionMs, writesOnlyBegun: true };
	const pool = new PostgresPool(proxy.address, limits, () => {});
	const ignore = () => {};
	const schemas = new SchemaNames(undefined);
	const tablesOf = (id: number) => ({ schema: schemas.account(id) });
	const common = {
		pool,
		connections: 2,
		length: 10,
		onCommit: ignore,
		onError: ignore,
		onWaiting: ignore,
	};
	const queue = new WriteQueue(uploadGroups(tablesOf), { ...common, ...options });
	const hits = new WriteQueue(hitGroups(tablesOf), common);
	t.after(async () => {
		proxy.restore();
		await Promise.all([queue.idle(), hits.idle()]);
		await pool.end();
		await proxy[Symbol.asyncDispose]();
	});
	const upload = (tid: string, deadlineMs = 60_000) => {
		const deadline = new Deadline(deadlineMs, ignore);
		const events = [subscriptionEvent({ tid, subid: tid })];
		const sent = { events, receivedAtMs: 0, simulate: false };
		return queue
			.store<UploadOutcome | 'expired'>(accountId, (settle) =>
				waitingUpload(accountId, sent, deadline, settle),
			)
			.finally(() => deadline.clear());
	};
	const storeHit = () => hits.store<StoredHit>(accountId, (settle) => waitingHit(accountId, hit(), settle));
	const stored = () => storedEvents(store, accountId);
	const storedHits = () => store.read(accountId, countRows('hit'));
	return { address, proxy, queue, upload, stored, storeHit, storedHits };
}

for (const end of ['before COMMIT is sent', 'before COMMIT arrives'] as const) {
	test(`a session ended because it was idle ${end} is repeated, and everything is stored once`, async (t) => {
		const { address, proxy, upload, stored, storeHit, storedHits } = await startQueues(t, {
			idleInTransactionMs: 100,
		});
		const watcher = await sessionOn(t, address);
		for (const write of [() => upload('a'), storeHit]) {
			await write();
			const before = await sessions(watcher);
			if (end === 'before COMMIT is sent') proxy.stall('answers');
			else proxy.commitFault = 'lost before';
			const written = write === storeHit ? write() : upload('b');
			// Identified by number, because a repeated transaction may have a new session by then.
			await becomes('the session is ended', 1000, async () => !before.isSubsetOf(await sessions(watcher)));
			proxy.restore();
			await written;
		}
		assert.deepEqual(
			(await stored()).map(({ tid }) => tid),
			['a', 'b'],
		);
		assert.equal(await storedHits(), 2);
	});
}

async function sessions(session: Session): Promise<Set<unknown>> {
	const { rows } = await session.query(
		'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
	);
	return new Set(rows.map((row) => (row as { pid: number }).pid));
}

test('a statement that an administrator cancels is repeated, and everything is stored once', async (t) => {
	const { address, upload, stored, storeHit, storedHits } = await startQueues(t, {});
	const [other, watcher] = [await sessionOn(t, address), await sessionOn(t, address)];
	await other.query('BEGIN; LOCK TABLE caskade_account_1.subscription_event, caskade_account_1.hit');
	const written = [upload('a'), storeHit()];
	for (const _ of written) {
		await becomes('both wait for the lock', 1000, async () => (await waitingForLocks(watcher)) === 2);
		await watcher.query(
			"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
		);
	}
	await other.query('ROLLBACK');
	await Promise.all(written);
	assert.equal((await stored()).length, 1);
	assert.equal(await storedHits(), 1);
});

test('a COMMIT whose outcome cannot be determined is answered as unknown', async (t) => {
	const { proxy, upload, stored } = await startQueues(t, { length: 10, readBackMs: 300 });
	proxy.commitFault = 'cut after';
	proxy.refusesAfterFault = true;
	await assert.rejects(upload('a'), (error) => {
		assert.ok(error instanceof StorageError);
		assert.equal(error.message, 'outcome unknown; retrying is safe');
		return true;
	});
	proxy.restore();
	const again = await upload('a');
	assert.deepEqual(again, { stored: 0, duplicateRows: [0], conflictingRows: [] });
	assert.equal((await stored()).length, 1);
});

test('uploads above the capacity of the queue are refused at once, and the queue drains', async (t) => {
	const { proxy, queue, upload, stored } = await startQueues(t, { length: 50 });
	proxy.stall();
	const waiting = Array.from({ length: 50 }, (_, n) => upload(`waiting-${n}`, 300));
	await assert.rejects(upload('too many'), QueueFullError);
	assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['expired']));
	assert.equal(queue.depth, 0);
	proxy.restore();
	assert.notEqual(await upload('after'), 'expired');
	assert.deepEqual(
		(await stored()).map(({ tid }) => tid),
		['after'],
	);
});

test('a tid that another session is about to store: 504, and it is not stored later', async (t) => {
	const service = await start(t);
	const other = await sessionOn(t, service.address);
	await other.query(
		"BEGIN; INSERT INTO caskade_account_1.subscription_event (tid, subid, evt, rvn, received_at) VALUES ('contested', 's', 'e', 1, 1)",
	);
	assertTimedOut(await service.upload(['first', 'contested', 'last']));
	await other.query('ROLLBACK');
	assert.deepEqual(await storedInTheEnd(service), ['after']);
});

test('an account with a locked table gets 504, others are not affected', async (t) => {
	const service = await start(t, { timeoutMs: shortMs }, patient);
	const other = await sessionOn(t, service.address);
	await other.query('BEGIN; LOCK TABLE caskade_account_1.subscription_event');
	let isLocked = true;
	const others = (async () => {
		const statuses: number[] = [];
		for (let n = 0; isLocked; n++)
			statuses.push((await service.upload([`other-${n}`], service.globex)).status);
		return statuses;
	})();
	const rounds: Answer[] = [];
	for (let round = 0; round < 2; round++)
		rounds.push(
			...(await Promise.all(Array.from({ length: 100 }, (_, n) => service.upload([`locked-${round}-${n}`])))),
		);
	isLocked = false;
	const statuses = await others;
	assert.deepEqual(new Set(rounds.map(({ status }) => status)), new Set([504]));
	assert.deepEqual(new Set(statuses), new Set([201]));
	assert.ok(statuses.length > 1, `${statuses.length} uploads of the other account`);
	assert.equal((await service.stored(service.globex)).length, statuses.length);
	await other.query('ROLLBACK');
	assert.deepEqual(await storedInTheEnd(service), ['after']);
});

test('with all connections used by locked accounts, everybody gets 504 in time, and nothing is stored', async (t) => {
	// Long enough for all of them to be waiting before the first one expires.
	const slowMs = 2000;
	const service = await start(t, { timeoutMs: slowMs });
	const third = await addAccount(service.store, 'c-a-acme-third');
	await service.server.directory.refresh();
	const [other, watcher] = [await sessionOn(t, service.address), await sessionOn(t, service.address)];
	await other.query(
		`BEGIN; LOCK TABLE caskade_account_2.subscription_event, caskade_account_${third}.subscription_event`,
	);
	const { globex, acme } = service;
	const locked = { aid: 'c-a-acme-third', key: acme.key };
	const stuck = [1, 2].flatMap((n) => [
		service.upload([`stuck-${n}`], globex),
		service.upload([`stuck-${n}`], locked),
	]);
	await becomes('uploads of both wait', 1500, async () => (await waitingForLocks(watcher)) >= 2);
	assertTimedOut(await service.upload(['fourth'], globex), slowMs);
	for (const answer of await Promise.all(stuck)) assertTimedOut(answer, slowMs);
	await other.query('ROLLBACK');
	assert.deepEqual(await storedInTheEnd(service), ['after']);
	assert.deepEqual(await service.stored(globex), []);
	assert.deepEqual(await service.stored(locked), []);
});

test('locked limits give 504 in time; uploads admitted before are not affected', async (t) => {
	const service = await start(t);
	const other = await sessionOn(t, service.address);
	await service.uploadUntilStored('before');
	await other.query('BEGIN; LOCK TABLE caskade_control.token_bucket');
	assertTimedOut(await service.upload(['limited']));
	await other.query('ROLLBACK');
	assert.deepEqual(await storedInTheEnd(service), ['before', 'after']);
});

test('the COMMIT of a failed transaction is no success', async (t) => {
	const pool = new PostgresPool(await freshPostgresDatabase(), { size: 1, ...poolLimits }, () => {});
	const client = await pool.acquire(30_000);
	t.after(() => {
		client.release(true);
		return pool.end();
	});
	await client.query(beginWriting);
	await assert.rejects(client.query('nonsense'));
	await assert.rejects(commitTransaction(client), isRolledBack);
});

test('uploads recover after a restart of the database server', async (t) => {
	const server = await startOwnPostgres();
	const service = await startProxiedService(t, await createDatabase(server), patient);
	t.after(() => server.stop());
	await service.uploadUntilStored('before');
	const startAgain = await server.shutDown();
	const answer = await service.upload(['down']);
	assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1']);
	await becomes('not ready', 1500, async () => !(await service.isReady()));
	await startAgain();
	assert.deepEqual(await storedInTheEnd(service), ['before', 'after']);
	await becomes('ready', 1500, () => service.isReady());
});

test('under outages of all kinds and load, exactly the 201s are stored, and the service recovers', async () => {
	const rounds = await outages({ address: await installedPostgresDatabase(), rounds: 2 });
	for (const { stored } of rounds) assert.ok(stored > 0);
});
