import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { OperatorError } from '../../../core/errors.ts';
import {
	type ClientTable,
	clientTableNames,
	clientTables,
	numberedTables,
} from '../../../core/store/account/client-tables.ts';
import type { ControlContent } from '../../../core/store/control/control-store.ts';
import {
	commitTransaction,
	maintenancePool,
	PostgresPool,
	SchemaNames,
} from '../../../core/store/postgres/engine/postgres-connection.ts';
import type { Value } from '../../../core/store/steps.ts';
import { type CopyTarget, checkCopyTarget, controlRows } from './copy-target.ts';

/** Prevents a second copy into the same schemas. The number is the ASCII of "copy". */
const advisoryLock = 0x636f7079;
const lockPatienceMs = 2000;
/** PostgreSQL takes at most 65,535 parameters in one statement. */
const maxParameters = 65_535;

/** Copies another store's content into the schemas of one stage. */
export class PostgresCopyTarget implements CopyTarget {
	readonly #pool: PostgresPool;
	readonly #client: pg.PoolClient;
	readonly #schemas: SchemaNames;

	private constructor(pool: PostgresPool, client: pg.PoolClient, schemas: SchemaNames) {
		this.#pool = pool;
		this.#client = client;
		this.#schemas = schemas;
	}

	/** @throws OperatorError where another copy into the same schemas runs */
	static async open(address: string, stage: string | undefined): Promise<PostgresCopyTarget> {
		const schemas = new SchemaNames(stage);
		const pool = new PostgresPool(address, { ...maintenancePool, size: 1 }, () => {});
		const client = await pool.connect();
		// The lock belongs to the session, so it ends with the process. The server notices that a moment later.
		const giveUpAtMs = performance.now() + lockPatienceMs;
		do {
			const { rows } = await client.query('SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked', [
				advisoryLock,
				schemas.control,
			]);
			if (rows[0].locked) return new PostgresCopyTarget(pool, client, schemas);
			await sleep(50);
		} while (performance.now() < giveUpAtMs);
		client.release();
		await pool.close();
		throw new OperatorError('Another copy to the same target is running; wait until it ends.');
	}

	async begin(source: string, accountIds: readonly number[]): Promise<'new' | 'resumed'> {
		const marker = this.#table('copy_under_way');
		const { rows: tables } = await this.#client.query('SELECT to_regclass($1) IS NOT NULL AS there', [
			marker,
		]);
		const { rows: markers } = tables[0].there
			? await this.#client.query(`SELECT source FROM ${marker}`)
			: { rows: [] };
		const { rows: counts } = await this.#client.query(
			`SELECT (SELECT count(*) FROM ${this.#table('client')}) + (SELECT count(*) FROM ${this.#table('plan')} WHERE name <> 'standard') AS others`,
		);
		const begun = await checkCopyTarget(
			this,
			{ source, accountIds },
			{ source: markers[0]?.source, isEmpty: counts[0].others === 0 },
		);
		if (begun === 'new') {
			// This table exists only during a copy.
			await this.#client.query(`CREATE TABLE IF NOT EXISTS ${marker} (source text NOT NULL)`);
			await this.#client.query(`INSERT INTO ${marker} (source) VALUES ($1) /* copy */`, [source]);
		}
		return begun;
	}

	async lastKey(accountId: number, table: ClientTable): Promise<Value[] | undefined> {
		const name = this.#clientTable(accountId, table);
		const { rows: tables } = await this.#client.query('SELECT to_regclass($1) IS NOT NULL AS there', [name]);
		if (!tables[0].there) return undefined;
		const { key } = clientTables[table];
		const { rows } = await this.#client.query(
			`SELECT ${key.join(', ')} FROM ${name} ORDER BY ${key.map((column) => `${column} DESC`).join(', ')} LIMIT 1 /* last copied */`,
		);
		return rows[0] && key.map((column) => rows[0][column]);
	}

	/** Uses `VALUES`, because on Citus COPY is a two-phase commit even inside one schema. */
	async addRows(accountId: number, table: ClientTable, rows: readonly (readonly Value[])[]): Promise<void> {
		await this.#insert(this.#clientTable(accountId, table), clientTables[table].columns, rows);
	}

	/**
	 * Inserts in as few statements as PostgreSQL's limit allows. Callers that need all or nothing open a transaction.
	 */
	async #insert(
		table: string,
		columns: readonly string[],
		rows: readonly (readonly Value[])[],
	): Promise<void> {
		const rowsPerInsert = Math.floor(maxParameters / columns.length);
		for (let from = 0; from < rows.length; from += rowsPerInsert) {
			const some = rows.slice(from, from + rowsPerInsert);
			const values = some.map((row, index) => {
				const numbers = row.map((_, column) => `$${index * columns.length + column + 1}`);
				return `(${numbers.join(', ')})`;
			});
			await this.#client.query(
				`INSERT INTO ${table} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE VALUES ${values.join(', ')} /* copy */`,
				some.flat(),
			);
		}
	}

	async finish(content: ControlContent): Promise<void> {
		for (const { id } of content.account) {
			let last = 0;
			for (const table of numberedTables)
				last = Math.max(last, await this.#continueNumbersOf(this.#clientTable(id, table)));
			await this.#client.query(`UPDATE "${this.#schemas.account(id)}".counter SET last = $1 /* copy */`, [
				last,
			]);
			// Until the server does so itself, it would plan as for empty tables.
			const tables = clientTableNames.map((table) => this.#clientTable(id, table));
			await this.#client.query(`ANALYZE ${tables.join(', ')} /* copy */`);
		}
		await this.#client.query('BEGIN');
		try {
			// Rows that every new store has, or that a server started on the empty store has made.
			for (const table of ['plan', 'signing_key'])
				await this.#client.query(`DELETE FROM ${this.#table(table)}`);
			for (const table of Object.keys(content)) {
				const { columns, rows } = controlRows(content, table);
				await this.#insert(this.#table(table), columns, rows);
			}
			await this.#client.query(`UPDATE ${this.#table('revision')} SET number = number + 1`);
			await this.#client.query(`DROP TABLE ${this.#table('copy_under_way')}`);
			for (const table of ['client', 'account', 'audit']) await this.#continueNumbersOf(this.#table(table));
			await commitTransaction(this.#client);
		} catch (error) {
			await this.#client.query('ROLLBACK').catch(() => {});
			throw error;
		}
	}

	/**
	 * Moves an identity column's sequence past the copied ids, which it did not assign itself.
	 * @returns the last of them; 0 where there is none
	 */
	async #continueNumbersOf(table: string): Promise<number> {
		// Two statements: on Citus, the one that reads the table runs on its node, where the sequence does not exist.
		const { rows } = await this.#client.query(`SELECT max(id) AS last FROM ${table}`);
		const { last } = rows[0];
		await this.#client.query("SELECT setval(pg_get_serial_sequence($1, 'id'), $2, $3)", [
			table,
			last ?? 1,
			last !== null,
		]);
		return last ?? 0;
	}

	#table(name: string): string {
		return `"${this.#schemas.control}"."${name}"`;
	}

	#clientTable(accountId: number, table: ClientTable): string {
		return `"${this.#schemas.account(accountId)}".${table}`;
	}

	async close(): Promise<void> {
		// Closed rather than returned to the pool, because the lock belongs to the session.
		this.#client.release(true);
		await this.#pool.close();
	}
}
