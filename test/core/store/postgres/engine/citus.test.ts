import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { copyStore } from '../../../../../src/capabilities/upkeep/store/copy.ts';
import { storeHits } from '../../../../../src/core/store/account/arriving/hits.ts';
import type { Check } from '../../../../../src/core/store/maintenance.ts';
import { migrationFiles } from '../../../../../src/core/store/migrations.ts';
import { statementsOf } from '../../../../../src/core/store/postgres/engine/statements.ts';
import type { OpenStore } from '../../../../../src/core/store/store.ts';
import { openStore } from '../../../../whole.ts';
import {
	addAccount,
	assertRefuses,
	engines,
	openFor,
	startWritingFor,
	storedEvents,
	subscriptionEvent,
	upload,
} from '../../engines.ts';
import { derived, hit } from '../../made-hits.ts';
import { freshPostgresDatabase } from '../../postgres-server.ts';
import { freshCitusLike } from '../citus-like.ts';
import { sessionOn } from '../service.ts';

const workers = { 'worker-1:5432': 'on', 'worker-2:5432': 'remote_apply' };

const newest = migrationFiles('postgres', 'client').length;

async function rowsIn(t: TestContext, address: string, table: string) {
	const session = await sessionOn(t, address);
	return (await session.query(`SELECT * FROM ${table}`)).rows;
}

test('accounts are distributed, the control schema is not', async (t) => {
	const address = await freshCitusLike({ workers });
	const store = await openFor(t, address);
	const id = await addAccount(store, 'c-a-x');
	const writer = await startWritingFor(t, store);
	await upload(writer, id, [subscriptionEvent()]);
	await writer.storeHit(id, hit());
	const session = await sessionOn(t, address);
	const { rows } = await session.query('SELECT schemaid::regnamespace::text AS name FROM pg_dist_schema');
	assert.deepEqual(rows, [{ name: `caskade_account_${id}` }]);
});

test('a copy continues the numbers of the copied rows', async (t) => {
	const [sqlite] = engines;
	assert.ok(sqlite);
	const source = await openFor(t, await sqlite.freshAddress(t));
	const id = await addAccount(source, 'c-a-x');
	const events = [subscriptionEvent(), subscriptionEvent(), subscriptionEvent()];
	const sourceWriter = await startWritingFor(t, source);
	await upload(sourceWriter, id, events.slice(0, 2));
	await sourceWriter.stop();
	const target = await openFor(t, await freshCitusLike({ workers }));
	await copyStore(source, target, () => {});
	const writer = await startWritingFor(t, target);
	await upload(writer, id, events.slice(2));
	await writer.storeHit(id, hit());
	assert.deepEqual(
		(await storedEvents(target, id)).map(({ tid }) => tid),
		events.map(({ tid }) => tid),
	);
	assert.equal((await addAccount(target, 'c-a-y')) > id, true);
	assert.ok(await derived(target, id));
});

test('numbers go on where a plain database gets the extension later', async (t) => {
	const address = await freshPostgresDatabase();
	const before = await openStore(address);
	const id = await addAccount(before, 'c-a-x');
	const writer = await startWritingFor(t, before);
	for (let count = 0; count < 3; count++) await writer.storeHit(id, hit());
	await writer.stop();
	await before.close();
	await freshCitusLike({ workers, database: address });
	const store = await openFor(t, address);
	const later = await startWritingFor(t, store);
	await later.storeHit(id, hit());
	await store.transact(id, () => storeHits([hit()]));
	assert.equal((await rowsIn(t, address, `caskade_account_${id}.hit`)).length, 5);
});

test('a process that served a plain database ends when that gets the extension, and the next goes on above its numbers', async (t) => {
	const address = await freshPostgresDatabase();
	const plain = await openFor(t, address);
	const id = await addAccount(plain);
	const deaths: string[] = [];
	const old = await startWritingFor(t, plain, { onDeath: ({ message }) => deaths.push(message) });
	await upload(old, id, [subscriptionEvent()]);
	await freshCitusLike({ workers, database: address });
	const store = await openFor(t, address);
	const writer = await startWritingFor(t, store);
	// Until it ends, the old one draws from its sequences.
	for (const serving of [writer, old, writer, old]) {
		await upload(serving, id, [subscriptionEvent(), subscriptionEvent()]);
		await serving.storeHit(id, hit());
	}
	for (const table of ['subscription_event', 'hit', 'visitor']) {
		const rows = await rowsIn(t, address, `caskade_account_${id}.${table}`);
		assert.equal(new Set(rows.map((row) => row.id)).size, table === 'subscription_event' ? 9 : 4, table);
	}
	const sentence =
		/^The database at postgres:\/\/\S+ has got the Citus extension since this process began: start it again\.$/;
	await assertRefuses(plain.control.revision(), sentence);
	assert.match(deaths.join(), sentence);
});

/** The results of these checks of `doctor`. */
async function checksOf(store: OpenStore, ...checks: string[]): Promise<string[]> {
	const all: Check[] = await Array.fromAsync(store.runChecks());
	return all
		.filter(({ check }) => checks.some((name) => check.startsWith(name)))
		.map(({ check, ok, detail }) => `${ok ? 'ok' : 'CARE'} ${check}: ${detail}`);
}

test('doctor shows the node of each account', async (t) => {
	const address = await freshCitusLike({ workers });
	const store = await openFor(t, address);
	await addAccount(store, 'c-a-x');
	const session = await sessionOn(t, address);
	await session.query('SET citus.enable_schema_based_sharding TO off');
	await session.query(`ALTER DATABASE ${nameOf(address)} SET citus.enable_schema_based_sharding TO off`);
	const later = await openFor(t, address);
	await addAccount(later, 'c-a-y');
	assert.deepEqual(await checksOf(later, 'Citus', 'account'), [
		'ok Citus: 13.2-1',
		`CARE Citus: new accounts will lie on the coordinator: ALTER DATABASE ${nameOf(address)} SET citus.enable_schema_based_sharding TO on`,
		`ok account c-a-x: schema ${newest}, at worker-1:5432`,
		`CARE account c-a-y: schema ${newest}, on the coordinator: SELECT citus_schema_distribute('caskade_account_2')`,
	]);
});

const nameOf = (address: string) => new URL(address).pathname.slice(1);

test('doctor reports a cluster of one node, and a distributed control schema', async (t) => {
	const address = await freshCitusLike({ workers: {} });
	const store = await openFor(t, address);
	const session = await sessionOn(t, address);
	await session.query(
		`INSERT INTO pg_dist_partition VALUES ('caskade_control.plan');
		 INSERT INTO pg_dist_shard (logicalrelid) VALUES ('caskade_control.plan');
		 INSERT INTO pg_dist_placement VALUES (1, 0);
		 INSERT INTO pg_dist_node (groupid, nodename, nodeport, noderole) VALUES (0, 'coordinator', 5432, 'primary')`,
	);
	assert.deepEqual(await checksOf(store, 'Citus'), [
		'ok Citus: 13.2-1',
		"CARE Citus: the control schema is distributed, which it must not be: copy everything to a new database with 'caskade copy'",
		'CARE Citus: there is no worker, so every account lies on the coordinator: SELECT citus_set_coordinator_host(…), then citus_add_node(…) for each',
	]);
});

test('if workers would answer 201 before it is durable, no server starts and doctor says why', async (t) => {
	const address = await freshCitusLike({
		workers: { ...workers, 'worker-3:5432': 'off', 'worker-4:5432': null },
	});
	const sentence =
		/What is stored on worker-3:5432 may be lost in a crash, since synchronous_commit is off there: run ALTER DATABASE \w+ SET synchronous_commit TO on on every node/;
	const store = await openFor(t, address);
	await assertRefuses(startWritingFor(t, store), sentence);
	const [, silent, undurable] = await checksOf(store, 'Citus');
	assert.equal(silent, 'CARE Citus: worker-4:5432 does not answer the coordinator');
	assert.match(undurable as string, sentence);
});

test('a worker that does not answer does not prevent a start', async (t) => {
	const store = await openFor(t, await freshCitusLike({ workers: { ...workers, 'worker-3:5432': null } }));
	await startWritingFor(t, store);
	const broken = await freshCitusLike({ workers });
	const session = await sessionOn(t, broken);
	await session.query('DROP FUNCTION run_command_on_workers');
	const errors: string[] = [];
	const onError = (_: string, reason: string) => errors.push(reason);
	await startWritingFor(t, await openFor(t, broken), { onError });
	assert.match(errors.join(), /run_command_on_workers/);
});

test("an account's own database on a worker of the cluster is refused with a reason", async (t) => {
	const worker = await freshCitusLike({ workers, localGroup: 1 });
	const store = await openFor(t, await freshCitusLike({ workers }));
	const create = (ownDatabase: string) =>
		store.control.createAccount({ aid: 'c-a-x', client: 'x', origins: [], ownDatabase }, (id) =>
			store.createAccountDatabase(id, ownDatabase),
		);
	await assertRefuses(create(worker), /is on a worker of a Citus cluster/);
	assert.deepEqual(await store.control.accounts(), []);
	await create(await freshCitusLike({ workers }));
});

test('the address of a worker is refused, and the coordinator is named', async () => {
	const address = await freshCitusLike({ workers, localGroup: 1, coordinator: 'coordinator-1:5432' });
	await assertRefuses(
		openStore(address),
		/^postgres:\/\/\S+ is a worker of a cluster whose coordinator is coordinator-1:5432: name that one\.$/,
	);
});

test('an account is not created while a worker does not answer', async (t) => {
	const store = await openFor(t, await freshCitusLike({ workers: { ...workers, 'worker-3:5432': null } }));
	await assertRefuses(
		addAccount(store, 'c-a-x'),
		/^worker-3:5432 does not answer the coordinator, and every node/,
	);
	assert.deepEqual(await store.control.accounts(), []);
});

test('a backup says what to do on a cluster instead', async (t) => {
	const store = await openFor(t, await freshCitusLike({ workers }));
	await assertRefuses(
		store.backup('folder', () => {}),
		/on a cluster, back up each node .* citus_create_restore_point/,
	);
});

test('doctor finds rows that the coordinator has kept, and names the command', async (t) => {
	const address = await freshCitusLike({ workers });
	const store = await openFor(t, address);
	await addAccount(store, 'c-a-x');
	assert.deepEqual(await checksOf(store, 'rows of'), []);
	const session = await sessionOn(t, address);
	await session.query("INSERT INTO left_behind VALUES ('caskade_account_1.subscription_event')");
	const [found] = await checksOf(store, 'rows of');
	assert.match(
		found as string,
		/^CARE rows of caskade_account_1: .*: SELECT truncate_local_data_after_distributing_table\(/,
	);
});

test('statements are split correctly, whatever contains semicolons', () => {
	const statements = [
		'-- of a comment;\nSELECT 1',
		"/* of a\n longer; one */ SELECT 'of a text;', 'with ''its'' quotes;'",
		'SELECT "of a name;"',
		"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ SELECT 1; SELECT '$' $$",
		'DO $body$ BEGIN PERFORM $$;$$; END $body$ -- at its end;',
		'SELECT 2 - 1, 4 / 2',
	];
	assert.deepEqual(statementsOf(`${statements.join('\n;\n')}\n;\n\n`), statements);
});
