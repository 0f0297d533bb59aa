import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { openStore } from '../../src/assembly/open-store.ts';
import { StorageError } from '../../src/core/errors.ts';
import { countRows } from '../../src/core/store/account/reading/rows.ts';
import { migrationFiles } from '../../src/core/store/migrations.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import {
	type Engine,
	engines,
	openFor,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../core/store/engines.ts';
import { hit } from '../core/store/made-hits.ts';
import { becomes, sessionOn, startProxiedService } from '../core/store/postgres/service.ts';
import { freshPostgresDatabase } from '../core/store/postgres-server.ts';
import { caskade, ServeProcess } from '../process.ts';
import { addClient, event, roomyPlan } from '../support.ts';
import { upgrade } from './upgrade.ts';

/** Accounts' databases as the first version left them. */
interface Earlier {
	readonly newest: number;
	make(accountId: number): Promise<void>;
	versionOf(accountId: number): Promise<number>;
}

async function earlierOn(t: TestContext, engine: Engine, address: string): Promise<Earlier> {
	const [first = '', ...later] = migrationFiles(engine.isFolder ? 'sqlite' : 'postgres', 'client');
	const tables = readFileSync(first, 'utf8');
	const newest = later.length + 1;
	if (engine.isFolder) {
		const open = (id: number) =>
			new DatabaseSync(`${address.replace('sqlite:', '')}/accounts/${id}.sqlite`, { timeout: 1000 });
		return {
			newest,
			async make(id) {
				const database = open(id);
				database.exec(`PRAGMA journal_mode = WAL; ${tables}; PRAGMA user_version = 1`);
				database.close();
			},
			async versionOf(id) {
				const database = open(id);
				const row = database.prepare('PRAGMA user_version').get();
				database.close();
				return Number(row?.user_version);
			},
		};
	}
	const session = await sessionOn(t, address);
	return {
		newest,
		async make(id) {
			const schema = `caskade_account_${id}`;
			await session.query(
				`CREATE SCHEMA ${schema}; SET search_path TO ${schema}; ${tables}; CREATE TABLE schema_version (version integer NOT NULL PRIMARY KEY); INSERT INTO schema_version VALUES (1)`,
			);
		},
		async versionOf(id) {
			const { rows } = await session.query(`SELECT version FROM caskade_account_${id}.schema_version`);
			return rows[0].version;
		},
	};
}

/** A client `acme` with accounts from before an upgrade, `c-a-1` and so on. */
async function addEarlierAccounts(store: OpenStore, earlier: Earlier, count: number): Promise<string> {
	for (let id = 1; id <= count; id++)
		await store.control.createAccount({ aid: `c-a-${id}`, client: 'acme', origins: [] }, earlier.make);
	await store.control.createPlan(roomyPlan);
	return (await store.control.issueKey('acme', roomyPlan.name)).key;
}

for (const engine of engines)
	test(`on ${engine.name} a server migrates an account on first use, not before it serves`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openFor(t, address);
		const earlier = await earlierOn(t, engine, address);
		const accounts = 20;
		const key = await addEarlierAccounts(store, earlier, accounts);
		const brought = async () => {
			const ids: number[] = [];
			for (let id = 1; id <= accounts; id++)
				if ((await earlier.versionOf(id)) === earlier.newest) ids.push(id);
			return ids;
		};
		assert.deepEqual(await brought(), []);
		const writer = await startWritingFor(t, store);
		await Promise.all([7, 7, 8].map((id) => upload(writer, id, [subscriptionEvent()])));
		await writer.stop();
		assert.deepEqual(await brought(), [7, 8]);
		const reader = store.startReading();
		assert.equal(await reader.visitor(9, '0'.repeat(32)), null);
		await reader.close();
		assert.equal(await store.read(10, countRows('subscription_event')), 0);
		assert.deepEqual(await brought(), [7, 8, 9, 10]);

		await using server = await ServeProcess.start(['--database', address]);
		assert.deepEqual(await brought(), [7, 8, 9, 10]);
		const uploadTo = async (id: number) =>
			(await server.upload(key, { aid: `c-a-${id}`, data: [event()] })).status;
		// Background work begins with the first request, and uses one account after another.
		assert.deepEqual(await Promise.all([uploadTo(11), uploadTo(11), uploadTo(12)]), [201, 201, 201]);
		const used = await brought();
		assert.ok([7, 8, 9, 10, 11, 12].every((id) => used.includes(id)));

		const migrating = caskade(['migrate', '--database', address]);
		let over = false;
		const uploading = (async () => {
			for (let id = 1; !over; id = (id % accounts) + 1) assert.equal(await uploadTo(id), 201);
		})();
		const { stdout, code } = await migrating;
		over = true;
		await uploading;
		assert.match(stdout, /^Every database has the newest schema; \d+ of 20 were migrated\.\n$/);
		assert.equal(code, 0);
		assert.equal((await brought()).length, accounts);
	});

for (const engine of engines)
	test(`on ${engine.name} a hit in an account from before the upgrade is stored and joined to earlier data`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openFor(t, address);
		const earlier = await earlierOn(t, engine, address);
		await addEarlierAccounts(store, earlier, 1);
		const writer = await startWritingFor(t, store);
		await upload(writer, 1, [subscriptionEvent({ tid: 'before' })]);
		const { vid } = await writer.storeHit(1, hit({}, { events: [{ name: 'order', tid: 'before' }] }));
		const reader = store.startReading();
		assert.equal((await reader.visitor(1, vid))?.subscriptions?.count, 1);
		await reader.close();
	});

test('on postgres, of several servers that use an account first, one migrates it', async (t) => {
	const address = await freshPostgresDatabase();
	const store = await openFor(t, address);
	const earlier = await earlierOn(t, engines[1] as Engine, address);
	await addEarlierAccounts(store, earlier, 1);
	const servers = await Promise.all(Array.from({ length: 6 }, () => openStore(address)));
	const counts = await Promise.all(servers.map((server) => server.read(1, countRows('subscription_event'))));
	assert.deepEqual(new Set(counts), new Set([0]));
	assert.equal(await earlier.versionOf(1), earlier.newest);
	await Promise.all(servers.map((server) => server.close()));
});

test('on postgres, only its account waits for a slow migration', async (t) => {
	const address = await freshPostgresDatabase();
	const service = await startProxiedService(t, address, {}, { timeoutMs: 600 });
	const other = await sessionOn(t, address);
	const earlier = await earlierOn(t, engines[1] as Engine, address);
	const { id } = await service.store.control.account(service.globex.aid);
	await other.query(`DROP SCHEMA caskade_account_${id} CASCADE`);
	await earlier.make(id);
	await other.query(`BEGIN; LOCK TABLE caskade_account_${id}.subscription_event IN ACCESS SHARE MODE`);
	const slow = service.upload(['a'], service.globex);
	for (const tid of ['b', 'c', 'd']) assert.equal((await service.upload([tid])).status, 201);
	assert.equal((await slow).status, 504);
	await other.query('ROLLBACK');
	await becomes('it is migrated', 2000, async () => (await earlier.versionOf(id)) === earlier.newest);
	await becomes('it is stored', 1000, async () => {
		return (await service.upload(['e'], service.globex)).status === 201;
	});
	assert.deepEqual(await service.stored(service.globex), ['e']);
});

test('on postgres, a server keeps using a schema that a newer one has migrated', async (t) => {
	const address = await freshPostgresDatabase();
	const service = await startProxiedService(t, address, {});
	assert.equal((await service.upload(['before'])).status, 201);
	const other = await sessionOn(t, address);
	for (const id of [1, 2])
		await other.query(
			`ALTER TABLE caskade_account_${id}.subscription_event ADD COLUMN of_the_future text; UPDATE caskade_account_${id}.schema_version SET version = 99`,
		);
	assert.equal((await service.upload(['known'])).status, 201);
	assert.equal((await service.upload(['first use'], service.globex)).status, 201);
});

test('on postgres, a missing schema is not created, which would hide a loss', async (t) => {
	const address = await freshPostgresDatabase();
	const store = await openFor(t, address);
	await addClient(store);
	const session = new pg.Client({ connectionString: address });
	await session.connect();
	await session.query('DROP SCHEMA caskade_account_1 CASCADE');
	await session.end();
	const writer = await startWritingFor(t, store);
	const missing = (error: unknown) => error instanceof StorageError && /is missing/.test(error.message);
	await assert.rejects(upload(writer, 1, [subscriptionEvent()]), missing);
	await assert.rejects(writer.storeHit(1, hit()), missing);
	await assert.rejects(
		store.migrate(() => {}),
		/except c-a-acme-uk \(the schema caskade_account_1 is missing\)/,
	);
});

test('on sqlite, hits older than recent hits stay as they are even if the migration is killed, and new ones are added', async () => {
	const { hits, kills } = await upgrade(300, 2);
	assert.ok(hits > 1000 && kills === 2);
});
