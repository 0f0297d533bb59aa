import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { commitTransaction, isDeadlock, isLockTimeout } from './postgres-connection.ts';
import type { Queryable } from './server-capabilities.ts';

/** The migration of accounts' schemas from which on texts are compared by their bytes: `013-bytes.sql`. */
export const bytesVersion = 13;

/** Indexes of larger schemas are built beside the old ones. Smaller ones are locked for less than a request waits. */
const largeBytes = 16 * 2 ** 20;
/** Who waits for a lock of a table has everybody else wait behind. */
const lockWaitMs = 500;
const lockRetryMs = 500;
const maxLockRetries = 600;

/** What the name of an index ends with until it is the only one. */
const suffix = '_by_bytes';

/** Whether a schema's tables are so large that its indexes should be built online. */
export async function isLarge(client: Queryable, schema: string): Promise<boolean> {
	const { rows } = await client.query(
		`SELECT coalesce(sum(pg_table_size(oid)), 0) AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace /* size of schema */`,
		[schema],
	);
	return Number(rows[0].bytes) > largeBytes;
}

interface TextIndex {
	readonly name: string;
	/** Quoted, with the schema. */
	readonly table: string;
	readonly isUnique: boolean;
	readonly isPrimary: boolean;
	/** Whether it has all rows, and columns only. PostgreSQL takes over the file of no other index. */
	readonly isPlain: boolean;
	/** Its columns, without expressions. */
	readonly columns: readonly string[];
	readonly definition: string;
}

/**
 * Makes an account's texts compare by their bytes while others read and write. It may be interrupted and repeated: what is
 * there already is kept.
 *
 * `ALTER COLUMN … TYPE text COLLATE "C"` locks a table until all of its indexes are built anew, but takes over those that
 * sort by bytes already. So they are built beside the old ones and replace them in the transaction of the migration. It takes
 * over no partial index, and none with an expression: one with all rows stands in until these are built, afterwards.
 * @param migrate runs `013-bytes.sql` in the transaction that has begun
 */
export async function compareBytesOnline(
	client: pg.PoolClient,
	schema: string,
	migrate: () => Promise<void>,
): Promise<void> {
	await dropInvalid(client, schema);
	const old = await textIndexes(client, schema);
	for (const { name, table, isUnique, columns } of old)
		await client.query(
			`CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY IF NOT EXISTS ${name}${suffix} ON ${table} (${columns.join(', ')})`,
		);
	if (old.length > 0) await replaceIndexes(client, schema, old, migrate);
	for (const { name, definition } of await standIns(client, schema)) {
		await client.query(definition.replace(/^CREATE INDEX /, '$&CONCURRENTLY IF NOT EXISTS '));
		await client.query(`DROP INDEX CONCURRENTLY "${schema}".${name}`);
	}
}

/** What an interrupted `CREATE INDEX CONCURRENTLY` leaves behind. */
export async function dropInvalid(client: pg.PoolClient, schema: string): Promise<void> {
	const { rows } = await client.query<{ name: string }>(
		`SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
		 WHERE relnamespace = $1::regnamespace AND NOT indisvalid /* invalid indexes */`,
		[schema],
	);
	for (const { name } of rows) await client.query(`DROP INDEX CONCURRENTLY "${schema}".${name}`);
}

/** The indexes of a schema that sort texts by a collation. */
async function textIndexes(client: pg.PoolClient, schema: string): Promise<TextIndex[]> {
	const { rows } = await client.query<TextIndex>(
		`SELECT index.relname AS name, indrelid::regclass::text AS "table", indisunique AS "isUnique",
			indisprimary AS "isPrimary", indpred IS NULL AND indexprs IS NULL AS "isPlain",
			pg_get_indexdef(indexrelid) AS definition,
			(SELECT array_agg(attname || CASE attcollation WHEN 0 THEN '' ELSE ' COLLATE "C"' END ORDER BY place)
			 FROM unnest(indkey::smallint[]) WITH ORDINALITY AS key (number, place)
			 JOIN pg_attribute ON attrelid = indrelid AND attnum = key.number) AS columns
		 FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
		 WHERE relnamespace = $1::regnamespace AND EXISTS (
			SELECT 1 FROM unnest(indcollation::oid[]) AS used WHERE used NOT IN (0, 'pg_catalog."C"'::regcollation)
		 ) ORDER BY index.relname /* indexes by collation */`,
		[schema],
	);
	return rows;
}

/** Indexes with all rows that stand in for partial ones, and the definitions of these. */
async function standIns(
	client: pg.PoolClient,
	schema: string,
): Promise<{ name: string; definition: string }[]> {
	const { rows } = await client.query<{ name: string; definition: string }>(
		`SELECT relname AS name, obj_description(oid, 'pg_class') AS definition FROM pg_class
		 WHERE relnamespace = $1::regnamespace AND relkind = 'i' AND right(relname, length($2)) = $2 ORDER BY relname /* indexes that stand in */`,
		[schema, suffix],
	);
	return rows;
}

async function replaceIndexes(
	client: pg.PoolClient,
	schema: string,
	indexes: readonly TextIndex[],
	migrate: () => Promise<void>,
): Promise<void> {
	for (let retries = 0; ; retries++) {
		await client.query('BEGIN');
		try {
			await client.query(`SET LOCAL lock_timeout TO ${lockWaitMs}`);
			for (const { name, table, isPrimary, isPlain, definition } of indexes) {
				await client.query(
					isPrimary ? `ALTER TABLE ${table} DROP CONSTRAINT ${name}` : `DROP INDEX "${schema}".${name}`,
				);
				if (!isPlain)
					await client.query(
						`COMMENT ON INDEX "${schema}".${name}${suffix} IS '${definition.replaceAll("'", "''")}'`,
					);
			}
			await migrate();
			for (const { name, table, isPrimary } of indexes.filter(({ isPlain }) => isPlain))
				await client.query(
					isPrimary
						? `ALTER TABLE ${table} ADD CONSTRAINT ${name} PRIMARY KEY USING INDEX ${name}${suffix}`
						: `ALTER INDEX "${schema}".${name}${suffix} RENAME TO ${name}`,
				);
			await commitTransaction(client);
			return;
		} catch (error) {
			await client.query('ROLLBACK');
			if (!(isLockTimeout(error) || isDeadlock(error)) || retries === maxLockRetries) throw error;
			await sleep(lockRetryMs);
		}
	}
}

/** Makes statistics of an account's tables: those of a column go with its former collation. */
export async function analyze(client: Queryable, schema: string): Promise<void> {
	// Later migrations may add others.
	const { rows } = await client.query(
		'SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = $1 /* tables of schema */',
		[schema],
	);
	await client.query(`ANALYZE ${rows.map(({ name }) => `"${schema}".${name}`).join(', ')}`);
}
