import type { Kysely } from 'kysely';
import type pg from 'pg';
import { ClientReader, type ClientTables } from '../client.ts';
import { ControlStore, type ControlTables } from '../control.ts';
import { migrationFiles } from '../migrations.ts';
import {
	type Finding,
	type MigrationProgress,
	OperatorError,
	type ServingWriter,
	type Store,
	type WriterEvents,
} from '../store.ts';
import { accountSchema, connectionError, controlSchema, createPool, kyselyOver } from './connection.ts';
import { migrate, schemaVersion } from './migrate.ts';
import { PostgresWriter } from './serving-writer.ts';

/** Transactions at a time that store uploads. */
const uploadConnections = 4;
/** The rest is for leases, for what the command line does, and for reading back a lost COMMIT. */
const poolSize = uploadConnections + 4;
const connectTimeoutMs = 5000;

/** One stage's databases on a PostgreSQL server: a schema for control, and one for each account. */
export class PostgresStore implements Store {
	readonly control: ControlStore;
	readonly #pool: pg.Pool;
	readonly #controlDatabase: Kysely<ControlTables>;
	#onTrouble: (error: Error) => void = () => {};

	private constructor(pool: pg.Pool, now: () => number) {
		this.#pool = pool;
		pool.on('error', (error) => this.#onTrouble(error));
		this.#controlDatabase = kyselyOver<ControlTables>(pool, controlSchema);
		this.control = new ControlStore(this.#controlDatabase, now);
	}

	/**
	 * Connects, and brings the control schema to the newest version.
	 * @throws OperatorError where there is no such server
	 */
	static async open(address: string, now: () => number = Date.now): Promise<PostgresStore> {
		const pool = createPool(address, { size: poolSize, connectTimeoutMs }, () => {});
		try {
			await migrate(pool, controlSchema, 'control');
			return new PostgresStore(pool, now);
		} catch (error) {
			await pool.end();
			throw connectionError(error, address);
		}
	}

	async read<T>(accountId: number, fn: (reader: ClientReader) => Promise<T>): Promise<T> {
		return fn(new ClientReader(kyselyOver<ClientTables>(this.#pool, accountSchema(accountId))));
	}

	async createAccountDatabase(accountId: number): Promise<void> {
		await migrate(this.#pool, accountSchema(accountId), 'client');
	}

	async migrate(progress: (step: MigrationProgress) => void): Promise<void> {
		for (const account of await this.control.accounts())
			progress({
				database: account.aid,
				migrations: await migrate(this.#pool, accountSchema(account.id), 'client'),
			});
	}

	async startWriting(events: WriterEvents): Promise<ServingWriter> {
		this.#onTrouble = (error) => events.onTrouble('postgres', error.message);
		return new PostgresWriter(this.#pool, uploadConnections, events);
	}

	async backup(): Promise<void> {
		throw new OperatorError(
			"'caskade backup' copies a data folder; on PostgreSQL use pg_dump or your server's own backups.",
		);
	}

	async *examine(): AsyncIterable<Finding> {
		const { rows } = await this.#pool.query('SHOW server_version');
		yield { check: 'server', ok: true, detail: `PostgreSQL ${rows[0].server_version}` };
		yield await this.#examineSchema('control schema', controlSchema, 'control');
		for (const account of await this.control.accounts())
			yield await this.#examineSchema(`account ${account.aid}`, accountSchema(account.id), 'client');
		const usable = (await this.control.keys()).filter((key) => key.revokedAt === null).length;
		yield {
			check: 'keys',
			ok: usable > 0,
			detail: usable > 0 ? `${usable} usable` : `none: nobody can upload; 'caskade key issue' makes one`,
		};
	}

	async #examineSchema(check: string, schema: string, kind: 'control' | 'client'): Promise<Finding> {
		const version = await schemaVersion(this.#pool, schema);
		const known = migrationFiles('postgres', kind).length;
		if (version === 0) return { check, ok: false, detail: 'its schema is missing: restore a backup' };
		if (version > known)
			return { check, ok: false, detail: `schema ${version} is newer than this Caskade (${known})` };
		const pending = version < known ? `, schema ${known} waits: 'caskade migrate' brings it` : '';
		return { check, ok: true, detail: `schema ${version}${pending}` };
	}

	async close(): Promise<void> {
		await this.#controlDatabase.destroy();
	}
}
