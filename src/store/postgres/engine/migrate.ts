import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { type DatabaseKind, migrationFiles, SchemaTooNewError } from '../../migrations.ts';
import type { Queryable } from './capabilities.ts';
import { commitTransaction } from './connection.ts';
import { statementsOf } from './statements.ts';

/** Lets one process at a time migrate a schema; other schemas do not wait. The number is the ASCII of "cask". */
const advisoryLock = 0x6361736b;

/**
 * Migrates a schema to its newest version in one transaction, and creates it if it is missing. Of several processes
 * that try at once, one does it and the others wait until it is done.
 * @returns the number of migrations that ran
 * @throws SchemaTooNewError before any change
 */
export async function migrate(pool: pg.Pool, schema: string, kind: DatabaseKind): Promise<number> {
	const files = migrationFiles('postgres', kind);
	if ((await checkedVersion(pool, schema, kind, files.length)) === files.length) return 0;
	const client = await pool.connect();
	try {
		await client.query('BEGIN');
		await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [advisoryLock, schema]);
		const version = await checkedVersion(client, schema, kind, files.length);
		// On Citus, accounts' schemas are distributed and the shared schema stays on the coordinator. Plain PostgreSQL
		// takes this for a custom setting.
		if (kind === 'control') await client.query('SET LOCAL citus.enable_schema_based_sharding TO off');
		await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
		await client.query(`SET LOCAL search_path TO "${schema}"`);
		if (version === 0)
			await client.query('CREATE TABLE schema_version (version integer NOT NULL PRIMARY KEY)');
		for (const path of files.slice(version)) await run(client, readFileSync(path, 'utf8'));
		await client.query('DELETE FROM schema_version');
		await client.query('INSERT INTO schema_version (version) VALUES ($1)', [files.length]);
		await commitTransaction(client);
		client.release();
		return files.length - version;
	} catch (error) {
		// A connection in the middle of a transaction cannot be reused.
		client.release(true);
		throw error;
	}
}

/**
 * Runs one statement at a time, which Citus requires. The extended protocol makes plain PostgreSQL reject several, too.
 */
async function run(client: pg.PoolClient, migration: string): Promise<void> {
	for (const text of statementsOf(migration)) {
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
		"SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'",
		[schema],
	);
	if (rowCount === 0) return 0;
	return (await client.query(`SELECT version FROM "${schema}".schema_version`)).rows[0]?.version ?? 0;
}
