import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { OperatorError, StorageError } from '../../../errors.ts';
import { type DatabaseKind, migrationFiles, newestSchemaFile, SchemaTooNewError } from '../../migrations.ts';
import { analyze, bytesVersion, compareBytesOnline, dropInvalid, isLarge } from './byte-order.ts';
import { commitTransaction } from './postgres-connection.ts';
import { sentenceOf, setRepeatsAside } from './repeated-events.ts';
import { isOnlyNode, type Queryable } from './server-capabilities.ts';
import { statementsOf } from './statements.ts';

/** Lets one process at a time migrate a schema; other schemas do not wait. The number is the ASCII of "cask". */
const advisoryLock = 0x6361736b;
const askAgainMs = 50;
/** How often repeated events are set aside while others let in more. */
const maxTries = 5;

/** What a migration did. */
export interface MigrationReport {
	/** The number of migrations that ran. */
	readonly migrations: number;
	/** What the operator should know. */
	readonly notice?: string | undefined;
}

/**
 * Migrates a schema to its newest version in one transaction, and creates it if it is missing. Of several processes
 * that try at once, one does it and the others wait until it is done.
 * @param missing what a missing schema is: that of an account which is known is a loss, and an empty one would hide it
 * @throws SchemaTooNewError before any change
 * @throws StorageError where a missing schema is a loss
 */
export async function migrate(
	pool: pg.Pool,
	schema: string,
	kind: DatabaseKind,
	missing: 'new' | 'lost' = 'new',
): Promise<MigrationReport> {
	const files = migrationFiles('postgres', kind);
	const found = await checkedVersion(pool, schema, kind, files.length);
	if (found === files.length) return { migrations: 0 };
	if (found === 0 && missing === 'lost') throw new StorageError(`the schema ${schema} is missing`);
	const client = await pool.connect();
	try {
		await lock(client, schema);
		const version = await checkedVersion(client, schema, kind, files.length);
		const isByCollation = kind === 'client' && version > 0 && version < bytesVersion;
		const notice = isByCollation ? await compareBytes(client, schema, version, files) : undefined;
		await apply(client, schema, kind, { from: isByCollation ? bytesVersion : version, files });
		await client.query('SELECT pg_advisory_unlock($1, hashtext($2))', [advisoryLock, schema]);
		client.release();
		return { migrations: files.length - version, notice };
	} catch (error) {
		// The lock belongs to the session.
		client.release(true);
		throw repeatedKeyError(error);
	}
}

/**
 * Waits without a statement: while an index is built beside the old one, the build waits for every transaction, and so for one
 * that waits for this lock.
 */
async function lock(client: pg.PoolClient, schema: string): Promise<void> {
	for (;;) {
		const { rows } = await client.query('SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked', [
			advisoryLock,
			schema,
		]);
		if (rows[0].locked) return;
		await sleep(askAgainMs);
	}
}

/** Runs the migrations after a version in one transaction. */
async function apply(
	client: pg.PoolClient,
	schema: string,
	kind: DatabaseKind,
	{ from, files }: { readonly from: number; readonly files: readonly string[] },
): Promise<void> {
	if (from === files.length) return;
	if (from > 0 && isOnlyNode(client) && (await isLarge(client, schema)))
		await buildIndexes(client, schema, files.slice(from));
	await client.query('BEGIN');
	// On Citus, accounts' schemas are distributed and the shared schema stays on the coordinator. Plain PostgreSQL
	// takes this for a custom setting.
	if (kind === 'control') await client.query('SET LOCAL citus.enable_schema_based_sharding TO off');
	await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
	await client.query(`SET LOCAL search_path TO "${schema}"`);
	if (from === 0) await make(client, readFileSync(newestSchemaFile('postgres', kind), 'utf8'));
	else {
		for (const path of files.slice(from)) await run(client, readFileSync(path, 'utf8'));
		await setVersion(client, files.length);
	}
	await commitTransaction(client);
}

/** Builds the indexes of migrations that may exist already, while others read and write. */
async function buildIndexes(client: pg.PoolClient, schema: string, files: readonly string[]): Promise<void> {
	await dropInvalid(client, schema);
	const statements = files.flatMap((path) => statementsOf(readFileSync(path, 'utf8')));
	for (const text of statements) {
		const [, index] = /^CREATE INDEX (IF NOT EXISTS .*)/ms.exec(text) ?? [];
		if (index === undefined) continue;
		const online = `CREATE INDEX CONCURRENTLY ${index.replace(' ON ', ` ON "${schema}".`)}`;
		await client.query(online).catch((error) => {
			if (!isMissing(error)) throw error;
		});
	}
}

/** Whether a table or a column is missing: an earlier migration of the same transaction makes it. */
function isMissing(error: { readonly code?: unknown }): boolean {
	return error.code === '42P01' || error.code === '42703';
}

/** In the schema that a transaction has set as its path. */
async function setVersion(client: pg.PoolClient, version: number): Promise<void> {
	await client.query('UPDATE schema_version SET version = $1', [version]);
}

/**
 * Brings an account's schema to the version from which on texts are compared by their bytes. What an index whose collation has
 * changed has let in twice is set aside first, or no unique index could be built; servers of an earlier version may let in more
 * meanwhile.
 * @returns what to tell of that
 */
async function compareBytes(
	client: pg.PoolClient,
	schema: string,
	version: number,
	files: readonly string[],
): Promise<string | undefined> {
	await apply(client, schema, 'client', { from: version, files: files.slice(0, bytesVersion - 1) });
	const setAside = { events: 0, differing: 0 };
	for (let tries = 1; ; tries++) {
		const { events, differing } = await setRepeatsAside(client, schema);
		setAside.events += events;
		setAside.differing += differing;
		try {
			await changeCollation(client, schema, files[bytesVersion - 1] as string);
			break;
		} catch (error) {
			if (!isRepeatedKey(error) || tries === maxTries) throw error;
		}
	}
	await analyze(client, schema);
	return setAside.events > 0 ? sentenceOf(setAside, schema) : undefined;
}

async function changeCollation(client: pg.PoolClient, schema: string, path: string): Promise<void> {
	const change = async () => {
		await client.query(`SET LOCAL search_path TO "${schema}"`);
		await run(client, readFileSync(path, 'utf8'));
	};
	// Online it was not tried on Citus, which gets the plain statements.
	const isOnline = isOnlyNode(client) && (await isLarge(client, schema));
	if (isOnline) await compareBytesOnline(client, schema, change);
	await client.query('BEGIN');
	try {
		if (!isOnline) await change();
		await client.query(`SET LOCAL search_path TO "${schema}"`);
		await setVersion(client, bytesVersion);
		await commitTransaction(client);
	} catch (error) {
		await client.query('ROLLBACK');
		throw error;
	}
}

function isRepeatedKey(error: unknown): error is pg.DatabaseError {
	return (error as { code?: unknown }).code === '23505';
}

/** Where rows are there twice that a unique index would have refused, no index can be built. */
function repeatedKeyError(error: unknown): unknown {
	if (!isRepeatedKey(error)) return error;
	const { table, schema, constraint } = error;
	return new OperatorError(
		`Rows of ${schema}.${table} have the same key (${constraint}), which an index whose collation has changed has let in: delete the later ones, then run 'caskade migrate'. See "A collation that has changed" in docs/how-to/repair.md.`,
		{ cause: error },
	);
}

/** Makes a schema with its version, at once where that is possible: it takes a third of the time. */
async function make(client: pg.PoolClient, schema: string): Promise<void> {
	if (isOnlyNode(client)) await client.query(schema);
	else await run(client, schema);
}

/**
 * Runs one statement at a time, which Citus requires. The extended protocol makes plain PostgreSQL reject several, too.
 */
async function run(client: pg.PoolClient, sql: string): Promise<void> {
	for (const text of statementsOf(sql)) {
		const statement = { text, queryMode: 'extended' };
		await client.query(statement);
	}
}

async function checkedVersion(
	client: Queryable,
	schema: string,
	kind: DatabaseKind,
	known: number,
): Promise<number> {
	const version = await schemaVersion(client, schema);
	if (version > known) throw new SchemaTooNewError(kind, version, known);
	return version;
}

/** The version of a schema; 0 where there is none. */
export async function schemaVersion(client: Queryable, schema: string): Promise<number> {
	// A query of the catalog sees what another process has just committed. `to_regclass` may answer from a cache.
	const { rowCount } = await client.query(
		"SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'schema_version'",
		[schema],
	);
	if (rowCount === 0) return 0;
	return (await client.query(`SELECT version FROM "${schema}".schema_version`)).rows[0]?.version ?? 0;
}
