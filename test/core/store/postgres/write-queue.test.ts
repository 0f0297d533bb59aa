import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Deadline } from '../../../../src/core/deadline.ts';
import type { SubscriptionEvent } from '../../../../src/core/domain/subscription-event.ts';
import type { UploadOutcome } from '../../../../src/core/store/account/arriving/arriving-events.ts';
import { storeHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { PostgresPool, SchemaNames } from '../../../../src/core/store/postgres/engine/postgres-connection.ts';
import { WriteQueue } from '../../../../src/core/store/postgres/queue/postgres-write-queue.ts';
import { uploadGroups } from '../../../../src/core/store/postgres/queue/upload-group.ts';
import { waitingUpload } from '../../../../src/core/store/postgres/queue/waiting-upload.ts';
import { addAccount, openFor, storedEvents, subscriptionEvent } from '../engines.ts';
import { hit } from '../made-hits.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { freshCitusLike } from './citus-like.ts';
import { becomes, sessionOn } from './service.ts';

/** A queue of uploads over three accounts, after one stored upload each. */
async function start(t: TestContext, address: string) {
	const store = await openFor(t, address);
	const accountIds: number[] = [];
	for (const aid of ['c-a-a', 'c-a-b', 'c-a-c']) accountIds.push(await addAccount(store, aid));
	const limits = { connectTimeoutMs: 10_000, statementTimeoutMs: 20_000, idleInTransactionMs: 20_000 };
	const pool = new PostgresPool(
		address,
		{ size: 4, ...limits, writesOnlyBegun: true, prepares: true },
		() => {},
	);
	const schemas = new SchemaNames(undefined);
	const groups: number[] = [];
	const queue = new WriteQueue(
		uploadGroups((id) => ({ schema: schemas.account(id) })),
		{
			pool,
			connections: 4,
			length: 1000,
			onCommit: ({ size }) => groups.push(size),
			onError: () => {},
			onWaiting: () => {},
		},
	);
	t.after(async () => {
		await queue.idle();
		await pool.end();
	});
	const upload = (accountId: number, tid: string, fields: object = {}) =>
		uploadAll(accountId, [subscriptionEvent({ tid, ...fields })]);
	const uploadAll = (accountId: number, events: readonly SubscriptionEvent[]) => {
		const deadline = new Deadline(20_000, () => {});
		const sent = {
			events,
			receivedAtMs: 1,
			simulate: false,
		};
		return queue
			.store<UploadOutcome | 'expired'>(accountId, (settle) =>
				waitingUpload(accountId, sent, deadline, settle),
			)
			.finally(() => deadline.clear());
	};
	for (const accountId of accountIds) await upload(accountId, 'first');
	groups.length = 0;
	const session = await sessionOn(t, address);
	const stored = async (accountId: number) => (await storedEvents(store, accountId)).map(({ tid }) => tid);
	return { store, accountIds, upload, uploadAll, groups, session, stored };
}

const engines = {
	'plain PostgreSQL': { address: installedPostgresDatabase, groups: [3] },
	// There, accounts are on several nodes.
	Citus: { address: () => freshCitusLike({ workers: { 'worker-1:5432': 'on' } }), groups: [1, 1, 1] },
};
for (const [name, { address, groups: expected }] of Object.entries(engines))
	test(`waiting uploads of several accounts take ${expected.length} transactions on ${name}`, async (t) => {
		const { accountIds, upload, groups, stored } = await start(t, await address());
		await Promise.all(accountIds.map((accountId) => upload(accountId, 'together')));
		assert.deepEqual(groups, expected);
		for (const accountId of accountIds) assert.deepEqual(await stored(accountId), ['first', 'together']);
	});

test('of uploads that join events at once, none leaves subscriptions to the background', async (t) => {
	const { store, accountIds, uploadAll, session } = await start(t, await installedPostgresDatabase());
	const [accountId] = accountIds as [number];
	await store.transact(accountId, () => storeHits([hit({ atMs: 1 }, { cid: 'C-1' })]));
	const upload = (name: string) =>
		uploadAll(
			accountId,
			Array.from({ length: 30 }, (_, row) =>
				subscriptionEvent({ tid: `${name} ${row}`, subid: `S-${name}-${row}`, cid: 'C-1' }),
			),
		);
	await upload('before');
	await Promise.all(Array.from({ length: 150 }, (_, number) => upload(`${number}`)));
	const { rows } = await session.query(
		`SELECT (SELECT count(*)::int FROM caskade_account_${accountId}.task) AS tasks, count(*)::int AS joined FROM caskade_account_${accountId}.subscription_event WHERE named = 1`,
	);
	assert.deepEqual(rows, [{ tasks: 0, joined: 151 * 30 }]);
});

test('an upload that the database refuses fails alone in its group', async (t) => {
	const { accountIds, upload, session, stored } = await start(t, await installedPostgresDatabase());
	const [one, other] = accountIds as [number, number];
	await session.query(
		`ALTER TABLE caskade_account_${one}.subscription_event ADD CHECK (tid <> 'refused'); DROP TABLE caskade_account_3.claim CASCADE`,
	);
	const sent = await Promise.allSettled([
		upload(one, 'a'),
		upload(one, 'refused'),
		upload(one, 'b'),
		upload(other, 'c'),
		upload(3, 'of a damaged account'),
	]);
	assert.deepEqual(
		sent.map(({ status }) => status),
		['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'rejected'],
	);
	assert.deepEqual(await stored(one), ['first', 'a', 'b']);
	assert.deepEqual(await stored(other), ['first', 'c']);
});

test('an upload that repeats events is stored with its group, and tells what it repeats', async (t) => {
	const { accountIds, upload, session, stored, groups } = await start(t, await installedPostgresDatabase());
	const [one, other] = accountIds as [number, number];
	// Each transaction that stores, and each that took a repeated event for a new one and failed.
	await session.query(
		`CREATE SEQUENCE tries; CREATE FUNCTION tried() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''tries''); RETURN NULL; END';
		 CREATE TRIGGER tried BEFORE INSERT ON caskade_account_${one}.subscription_event FOR EACH STATEMENT EXECUTE FUNCTION tried()`,
	);
	const tries = async () => Number((await session.query('SELECT last_value FROM tries')).rows[0].last_value);
	const outcomes = await Promise.all([
		upload(one, 'a'),
		upload(one, 'first'),
		upload(one, 'b'),
		upload(one, 'b'),
		upload(other, 'c'),
	]);
	const told = outcomes.map((outcome) => {
		assert.ok(outcome !== 'expired');
		return [outcome.stored, outcome.duplicateRows.length];
	});
	assert.deepEqual(told, [
		[1, 0],
		[0, 1],
		[1, 0],
		[0, 1],
		[1, 0],
	]);
	assert.deepEqual(await stored(one), ['first', 'a', 'b']);
	assert.deepEqual(await stored(other), ['first', 'c']);
	assert.deepEqual([await tries(), groups], [2, [5]]);
	await upload(one, 'a');
	await upload(one, 'd');
	assert.equal(await tries(), 4, 'who repeated is expected to repeat');
	assert.deepEqual(await stored(one), ['first', 'a', 'b', 'd']);
});

test('a locked account delays the others of its transaction only for a moment', async (t) => {
	const { accountIds, upload, session, stored } = await start(t, await installedPostgresDatabase());
	const [locked, ...others] = accountIds as [number, number, number];
	await session.query(`BEGIN; LOCK TABLE caskade_account_${locked}.subscription_event`);
	const waiting = upload(locked, 'late');
	const answered: number[] = [];
	for (const accountId of others) upload(accountId, 'soon').then(() => answered.push(accountId));
	await becomes('the others are stored', 2000, () => answered.length === others.length);
	await session.query('ROLLBACK');
	await waiting;
	assert.deepEqual(await stored(locked), ['first', 'late']);
});

test('of thousands who showed a cid, the first owns it', async (t) => {
	const { accountIds, upload, session } = await start(t, await installedPostgresDatabase());
	const [accountId] = accountIds as [number];
	const schema = `caskade_account_${accountId}`;
	await session.query(
		`INSERT INTO ${schema}.visitor (vid, profile) SELECT 'v-' || n, 'null' FROM generate_series(1, 3000) AS n;
		 INSERT INTO ${schema}.claim (key, at, vid) SELECT 'c:popular', 5000 - n, 'v-' || n FROM generate_series(1, 3000) AS n`,
	);
	await upload(accountId, 'sale', { cid: 'popular' });
	const { rows } = await session.query(`SELECT vid FROM ${schema}.subscription_event WHERE tid = 'sale'`);
	assert.deepEqual(rows, [{ vid: 'v-3000' }]);
});
