import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { type DatabaseKind, migrationFiles, newestSchemas } from '../../../../src/core/store/migrations.ts';
import { eventually } from '../../../eventually.ts';
import { caskadeWithin } from '../../../process.ts';
import { serveAt } from '../../../support.ts';
import {
	addAccount,
	type Engine,
	openFor,
	startServingFor,
	startWritingFor,
	storedContent,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { freshIcuDatabase, installedPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

/** The first version of accounts' schemas that compares texts by their bytes. */
const bytesVersion = 13;
const bytesVersionOfControl = 20;
/** The version of accounts' schemas whose indexes of keys have no `id`. */
const narrowVersion = 21;
const schema = 'caskade_account_1';

/** Earlier servers have no databases that sort as ICU does. */
const skip =
	process.env.TEST_POSTGRES_PACKAGES !== undefined && 'only where ICU can be the collation of a database';

const icuEngine: Engine = {
	name: 'postgres that sorts like a dictionary',
	freshAddress: () => freshIcuDatabase('en'),
	installedAddress: () => freshIcuDatabase('en'),
	isFolder: false,
};

const plainEngine: Engine = {
	name: 'postgres',
	freshAddress: () => installedPostgresDatabase(),
	installedAddress: () => installedPostgresDatabase(),
	isFolder: false,
};

/** What an upgrade of the system's library does: the same name of a collation sorts otherwise, here without punctuation. */
async function changeCollation(t: TestContext, address: string): Promise<void> {
	const session = await sessionOn(t, address);
	const name = new URL(address).pathname.slice(1);
	// Until version 17, it had another name.
	const { rows } = await session.query(
		"SELECT attname AS locale FROM pg_attribute WHERE attrelid = 'pg_database'::regclass AND attname IN ('datlocale', 'daticulocale')",
	);
	await session.query(
		`UPDATE pg_database SET ${rows[0].locale} = 'en-u-ka-shifted', datcollversion = '1' WHERE datname = $1`,
		[name],
	);
}

/** Ids as back ends make them. */
const tids = Array.from({ length: 3000 }, (_, index) => {
	const digits = ((index * 7919) % 3000).toString(36);
	return ['a-', 'A_', 'a.', 'B/', 'b-'][index % 5] + [...digits].join(index % 3 ? '-' : '');
});

const eventOf = (tid: string) => ({ ...subscriptionEvent({ tid, subid: tid }), cid: `c${tid}` });

async function uploadAll(writer: Parameters<typeof upload>[0], accountId: number): Promise<number> {
	let stored = 0;
	for (let from = 0; from < tids.length; from += 1000)
		stored += (await upload(writer, accountId, tids.slice(from, from + 1000).map(eventOf))).stored;
	return stored;
}

/** Puts a schema back to how an earlier version has made it. */
async function schemaOfVersion(
	session: pg.Client,
	version: number,
	{ name = schema, kind = 'client' }: { name?: string; kind?: DatabaseKind } = {},
): Promise<void> {
	await session.query(`DROP SCHEMA ${name} CASCADE; CREATE SCHEMA ${name}; SET search_path TO ${name}`);
	await session.query('CREATE TABLE schema_version (version integer NOT NULL PRIMARY KEY)');
	for (const path of migrationFiles('postgres', kind).slice(0, version))
		await session.query(readFileSync(path, 'utf8'));
	await session.query(`INSERT INTO schema_version VALUES (${version})`);
}

const definitions = async (session: pg.Client) => {
	const { rows } = await session.query(
		`SELECT indexname, indexdef, indisvalid, indisprimary FROM pg_indexes
		 JOIN pg_index ON indexrelid = format('%I.%I', schemaname, indexname)::regclass WHERE schemaname = $1 ORDER BY 1`,
		[schema],
	);
	return rows;
};

test('every text of both schemas, and every index, is compared by its bytes', { skip }, async (t) => {
	const { address } = await startServingFor(t, icuEngine);
	const session = await sessionOn(t, address);
	const { rows: columns } = await session.query(
		`SELECT attrelid::regclass || '.' || attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
		 WHERE relnamespace::regnamespace::text ~ '^caskade' AND attcollation NOT IN (0, 'pg_catalog."C"'::regcollation)`,
	);
	assert.deepEqual(columns, []);
	const { rows: indexes } = await session.query(
		`SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
		 WHERE relnamespace::regnamespace::text ~ '^caskade' AND EXISTS (
			SELECT 1 FROM unnest(indcollation::oid[]) AS used WHERE used NOT IN (0, 'pg_catalog."C"'::regcollation)
		 )`,
	);
	assert.deepEqual(indexes, []);
});

test('a collation that changes under the data makes no repeat a new event, and hides none', {
	skip,
}, async (t) => {
	const { address, store, writer, accountId } = await startServingFor(t, icuEngine);
	assert.equal(await uploadAll(writer, accountId), tids.length);
	await writer.stop();
	await changeCollation(t, address);
	const changed = await openFor(t, address);
	assert.equal(await uploadAll(await startWritingFor(t, changed), accountId), 0);
	const receipts = await changed.startReading().receipts(accountId, tids);
	assert.equal(receipts.length, tids.length);
	assert.equal((await storedContent(store, accountId)).length, tids.length);
});

test('lists by name have the order of bytes, like those of a data folder', { skip }, async (t) => {
	const { store } = await startServingFor(t, icuEngine);
	const names = ['Zoe', 'a-b', 'ab', 'Ab', '_x', 'é'];
	for (const name of names) await addAccount(store, `c-a-${name}`, name);
	const session = await sessionOn(t, store.place.database);
	const { rows } = await session.query('SELECT name FROM caskade_control.client ORDER BY name');
	assert.deepEqual(
		rows.map(({ name }) => name),
		['Ab', 'Zoe', '_x', 'a-b', 'ab', 'acme', 'é'],
	);
});

test('keys are looked up, paged and compared between tables by their indexes', { skip }, async (t) => {
	const { address } = await startServingFor(t, icuEngine);
	const session = await sessionOn(t, address);
	await session.query(
		`SET search_path TO ${schema}; SET enable_seqscan TO off; SET enable_bitmapscan TO off`,
	);
	const statements = [
		"SELECT vid FROM visitor WHERE vid > 'a' ORDER BY vid LIMIT 40",
		"SELECT sid FROM visit WHERE folded_to IS NOT NULL AND sid > 'a' ORDER BY sid LIMIT 40",
		"SELECT vid, at FROM touch WHERE (vid, at) > ('a', 1) ORDER BY vid, at LIMIT 40",
		"SELECT tid FROM subscription_event WHERE tid = ANY(ARRAY['a', 'b']) ORDER BY tid",
		"SELECT tid FROM subscription_event WHERE cid = 'a' LIMIT 40",
		"SELECT visitor.vid FROM unnest(ARRAY['a']) AS list (key) JOIN visitor ON visitor.vid = list.key",
		"SELECT visitor.vid FROM claim JOIN visitor ON visitor.vid = claim.vid WHERE claim.key = 'a'",
		"SELECT name FROM task WHERE name = 'e:' || lower('A') ORDER BY name",
	];
	for (const statement of statements) {
		const { rows } = await session.query({ text: `EXPLAIN ${statement}`, rowMode: 'array' });
		const plan = rows.flat().join('\n');
		assert.doesNotMatch(plan, /Sort|Seq Scan/, statement);
		assert.match(plan, /Index Cond/, statement);
	}
});

/** An account as an earlier version has left it, with events that its index has let in twice. */
async function startWithRepeats(t: TestContext) {
	const { address, store, writer, aid } = await startServingFor(t, icuEngine);
	await writer.stop();
	await store.close();
	const session = await sessionOn(t, address);
	await schemaOfVersion(session, bytesVersion - 1);
	const insert = async (on: pg.Client, rvn: number) => {
		const { rowCount } = await on.query(
			`INSERT INTO ${schema}.subscription_event (tid, subid, cid, evt, rvn, received_at)
			 SELECT tid, tid, 'c' || tid, 'newsletter', $2, 5 FROM unnest($1::text[]) AS list (tid) ON CONFLICT (tid) DO NOTHING`,
			[tids, rvn],
		);
		return Number(rowCount);
	};
	assert.equal(await insert(session, 499), tids.length);
	await changeCollation(t, address);
	const later = await sessionOn(t, address);
	const repeats = (await insert(later, 499)) + (await insert(await sessionOn(t, address), 500));
	assert.ok(repeats > 100, `an index of the former collation lets in repeats, here ${repeats}`);
	return { address, aid, session: later, repeats };
}

test('repeats that were let in before are set aside by the migration, and told', { skip }, async (t) => {
	const { address, aid, session, repeats } = await startWithRepeats(t);
	const asked = await caskadeWithin(['migrate', '--database', address]);
	assert.equal(asked.code, 0, asked.stderr);
	assert.match(asked.stdout, new RegExp(`^${aid}: ${repeats} repeats of stored events, .* set aside`));
	const store = await openFor(t, address);
	const content = await storedContent(store, 1);
	assert.deepEqual(
		content.map(({ tid, rvn }) => [tid, rvn]),
		tids.map((tid) => [tid, 499]),
		'the first of each is kept',
	);
	const { rows } = await session.query(
		`SELECT count(*)::integer AS events, count(DISTINCT tid)::integer <= ${tids.length} AS known FROM ${schema}.repeated_event`,
	);
	assert.deepEqual(rows, [{ events: repeats, known: true }]);
	const checks = await Array.fromAsync(store.runChecks());
	assert.match(
		String(checks.find(({ check }) => check === `account ${aid}`)?.detail),
		new RegExp(`^schema ${newestSchemas('postgres').accounts}, ${repeats} repeats `),
	);
	assert.equal(await uploadAll(await startWritingFor(t, store), 1), 0);
});

test('a name that the control database has twice is told before anything is changed', { skip }, async (t) => {
	const { address, store, writer } = await startServingFor(t, icuEngine);
	await writer.stop();
	await store.close();
	const session = await sessionOn(t, address);
	const name = 'caskade_control';
	await schemaOfVersion(session, bytesVersionOfControl - 1, { name, kind: 'control' });
	const insert = async (on: pg.Client) => {
		const { rowCount } = await on.query(
			`INSERT INTO ${name}.client (name, created_at) SELECT tid, 1 FROM unnest($1::text[]) AS list (tid) ON CONFLICT (name) DO NOTHING`,
			[tids],
		);
		return rowCount;
	};
	assert.equal(await insert(session), tids.length);
	await changeCollation(t, address);
	assert.notEqual(await insert(await sessionOn(t, address)), 0);
	const { code, stderr } = await caskadeWithin(['migrate', '--database', address]);
	assert.equal(code, 1);
	assert.match(stderr, /Rows of caskade_control\.client have the same key \(client_name_key\)/);
	const { rows } = await session.query(`SELECT version FROM ${name}.schema_version`);
	assert.deepEqual(rows, [{ version: bytesVersionOfControl - 1 }]);
});

/** An account that is so large that its indexes are built online. */
async function startLarge(t: TestContext) {
	const { address, store, writer } = await startServingFor(t, icuEngine);
	const session = await sessionOn(t, address);
	const fresh = await definitions(session);
	await writer.stop();
	await store.close();
	await schemaOfVersion(session, bytesVersion - 1);
	await session.query(
		`INSERT INTO hit (vid, sid, at, body) SELECT md5(n::text), md5((-n)::text), n, repeat('x', 300) FROM generate_series(1, 50000) AS n`,
	);
	await session.query(
		`INSERT INTO subscription_event (tid, subid, cid, evt, rvn, received_at)
		 SELECT 't-' || n, 's' || n % 100, 'c' || n % 50, 'e', 1, n FROM generate_series(1, 50000) AS n`,
	);
	return { address, session, fresh };
}

test('a large account is changed while others read and write', { skip }, async (t) => {
	const { address, session, fresh } = await startLarge(t);
	const other = await sessionOn(t, address);
	let [written, longestMs, isOver] = [0, 0, false];
	const write = async () => {
		while (!isOver) {
			const beganMs = performance.now();
			await other.query(
				`INSERT INTO ${schema}.subscription_event (tid, subid, evt, rvn, received_at) VALUES ($1, 's', 'e', 1, 1) ON CONFLICT (tid) DO NOTHING`,
				[`other ${++written}`],
			);
			await other.query(`SELECT id FROM ${schema}.subscription_event WHERE cid = 'c7' ORDER BY id LIMIT 5`);
			longestMs = Math.max(longestMs, performance.now() - beganMs);
		}
	};
	const writing = write();
	const store = await openFor(t, address);
	await store.migrate(() => {});
	isOver = true;
	await writing;
	t.diagnostic(`${written} writes meanwhile, the longest took ${Math.round(longestMs)} ms`);
	assert.ok(longestMs < 1000, `none waits for an index: the longest took ${longestMs} ms`);
	assert.deepEqual(await definitions(session), fresh, 'the indexes of a new account, under their names');
	const { rows } = await session.query('SELECT count(*)::integer AS events FROM subscription_event');
	assert.equal(rows[0].events, 50_000 + written);
});

test('an index that a large account gets later is built while others write', async (t) => {
	const { address, store, writer } = await startServingFor(t, plainEngine);
	const session = await sessionOn(t, address);
	const fresh = await definitions(session);
	await writer.stop();
	await schemaOfVersion(session, narrowVersion - 1);
	await session.query(
		`INSERT INTO hit (vid, sid, at, body) SELECT md5(n::text), md5((-n)::text), n, repeat('x', 300) FROM generate_series(1, 50000) AS n`,
	);
	const insert = (tid: string) =>
		`INSERT INTO ${schema}.subscription_event (tid, subid, evt, rvn, received_at) VALUES ('${tid}', 's', 'e', 1, 1)`;
	await session.query(`BEGIN; ${insert('t-1')}`);
	const migrating = store.migrate(() => {});
	const other = await sessionOn(t, address);
	await eventually('the index waits for the transaction', async () => {
		const { rowCount } = await other.query(
			"SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX%subscription_event_cid%' AND wait_event_type = 'Lock'",
		);
		return rowCount === 1;
	});
	await other.query("SET lock_timeout TO '2s'");
	await other.query(insert('t-2'));
	await session.query('COMMIT');
	await migrating;
	assert.deepEqual(await definitions(session), fresh);
});

test('a change that was interrupted anywhere is taken up again', { skip }, async (t) => {
	const { address, session, fresh } = await startLarge(t);
	const query = pg.Client.prototype.query;
	const places = [
		'hit_vid_at_by_bytes',
		'INDEX CONCURRENTLY IF NOT EXISTS subscription_event_named_by_bytes',
		'RENAME TO',
		'INDEX CONCURRENTLY IF NOT EXISTS subscription_event_named ON',
	];
	for (const place of places) {
		const store = await openFor(t, address);
		const sending = t.mock.method(
			pg.Client.prototype,
			'query',
			function (this: pg.Client, ...given: unknown[]) {
				const [statement] = given as [string | { text: string }];
				const text = typeof statement === 'string' ? statement : statement.text;
				if (text?.includes(place)) return Promise.reject(new Error('interrupted'));
				return Reflect.apply(query, this, given);
			},
		);
		await assert.rejects(
			store.migrate(() => {}),
			/interrupted/,
			place,
		);
		sending.mock.restore();
		await store.close();
		// What a kill leaves of an index that was being built.
		await session.query(
			"UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('hit_sid_at_by_bytes')",
		);
	}
	const store = await openFor(t, address);
	await store.migrate(() => {});
	assert.deepEqual(await definitions(session), fresh);
	const { rows } = await session.query('SELECT version FROM schema_version');
	assert.deepEqual(rows, [{ version: newestSchemas('postgres').accounts }]);
});

test('a statement that was prepared before a table has changed is sent again', async (t) => {
	const { address, writer, accountId, store } = await startServingFor(t, plainEngine);
	const reader = store.startReading();
	const readAndWrite = async (tid: string) => {
		assert.equal((await upload(writer, accountId, [eventOf(tid)])).stored, 1);
		assert.equal((await reader.receipts(accountId, [tid])).length, 1);
	};
	await readAndWrite('first');
	const session = await sessionOn(t, address);
	for (const collation of ['POSIX', 'C']) {
		await session.query(
			`ALTER TABLE ${schema}.subscription_event ALTER COLUMN tid TYPE text COLLATE "${collation}"`,
		);
		for (const tid of ['one', 'two', 'three']) await readAndWrite(tid + collation);
	}
});

test('a collation of another version is told by doctor, status and the log of a start', {
	skip,
}, async (t) => {
	const { address, store, writer } = await startServingFor(t, icuEngine);
	await store.control.issueKey('acme', 'standard');
	assert.equal((await store.status()).collation, undefined);
	await writer.stop();
	await changeCollation(t, address);
	const sentence =
		/the database caskade_test_\w+ sorts text by version [\d.]+ of its library and was made with 1: REINDEX .* ALTER DATABASE caskade_test_\w+ REFRESH COLLATION VERSION/;
	const doctor = await caskadeWithin(['doctor', '--database', address]);
	assert.equal(doctor.code, 1);
	assert.match(doctor.stdout, new RegExp(`CARE  collation: ${sentence.source}`));
	const status = await caskadeWithin(['status', '--database', address]);
	assert.match(status.stdout, new RegExp(`collation +${sentence.source}`));
	const logged: string[] = [];
	const server = await serveAt(address, {}, logged);
	await server.stop();
	assert.match(logged.join('\n'), sentence);
	const session = await sessionOn(t, address);
	await session.query(`ALTER DATABASE ${new URL(address).pathname.slice(1)} REFRESH COLLATION VERSION`);
	assert.equal((await caskadeWithin(['doctor', '--database', address])).code, 0);
});
