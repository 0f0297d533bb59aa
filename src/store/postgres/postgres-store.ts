import type { Kysely } from 'kysely';
import { ClientReader, type ClientTables } from '../client.ts';
import { ControlStore, type ControlTables } from '../control.ts';
import { examineKeys } from '../examine-keys.ts';
import type { Importer } from '../importer.ts';
import { migrationFiles } from '../migrations.ts';
import type { Steps } from '../steps.ts';
import {
	type Finding,
	type MigrationProgress,
	OperatorError,
	type ServingReader,
	type ServingWriter,
	type Store,
	type WriterEvents,
} from '../store.ts';
import { ConnectionPool, connectionError, kyselyOver, type PoolOptions, SchemaNames } from './connection.ts';
import { PostgresImporter } from './importer.ts';
import { migrate, schemaVersion } from './migrate.ts';
import { runSteps } from './run-steps.ts';
import { PostgresReader } from './serving-reader.ts';
import { PostgresWriter } from './serving-writer.ts';

/** For keys, plans and accounts: small statements, which a serving process repeats all the time. */
const controlPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 5000,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 60_000,
};
/** For migrations and exports, which may take as long as they take. */
const patientPool: PoolOptions = {
	size: 2,
	connectTimeoutMs: 10_000,
	statementTimeoutMs: 3_600_000,
	idleInTransactionMs: 60_000,
};

/** For what pages read. */
const readingPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
};

/** One stage's databases on a PostgreSQL server: a schema for control, and one for each account. */
export class PostgresStore implements Store {
	readonly control: ControlStore;
	readonly takesManyServers = true;
	readonly #address: string;
	readonly #schemas: SchemaNames;
	/** For migrations and exports. */
	readonly #pool: ConnectionPool;
	readonly #controlDatabase: Kysely<ControlTables>;
	#onTrouble: (error: Error) => void = () => {};

	private constructor(address: string, schemas: SchemaNames, now: () => number) {
		this.#schemas = schemas;
		this.#address = address;
		const onTrouble = (error: Error) => this.#onTrouble(error);
		this.#pool = new ConnectionPool(address, patientPool, onTrouble);
		this.#controlDatabase = kyselyOver(new ConnectionPool(address, controlPool, onTrouble), schemas.control);
		this.control = new ControlStore(this.#controlDatabase, now);
	}

	/**
	 * Connects, and brings the control schema to the newest version.
	 * @throws OperatorError where there is no such server
	 */
	static async open(address: string, stage?: string, now: () => number = Date.now): Promise<PostgresStore> {
		const store = new PostgresStore(address, new SchemaNames(stage), now);
		try {
			await migrate(store.#pool, store.#schemas.control, 'control');
			return store;
		} catch (error) {
			await store.close();
			throw connectionError(error, address);
		}
	}

	async read<T>(accountId: number, fn: (reader: ClientReader) => Promise<T>): Promise<T> {
		return fn(new ClientReader(kyselyOver<ClientTables>(this.#pool, this.#schemas.account(accountId))));
	}

	async transact<T>(accountId: number, steps: Steps<T>): Promise<T> {
		const client = await this.#pool.connect();
		try {
			await client.query('BEGIN');
			const outcome = await runSteps(client, this.#schemas.account(accountId), steps);
			await client.query('COMMIT');
			client.release();
			return outcome;
		} catch (error) {
			client.release(true);
			throw error;
		}
	}

	startReading(): ServingReader {
		const pool = new ConnectionPool(this.#address, readingPool, (error) => this.#onTrouble(error));
		return new PostgresReader(pool, this.#schemas);
	}

	async createAccountDatabase(accountId: number): Promise<void> {
		await migrate(this.#pool, this.#schemas.account(accountId), 'client');
	}

	async migrate(progress: (step: MigrationProgress) => void): Promise<void> {
		for (const account of await this.control.accounts())
			progress({
				database: account.aid,
				migrations: await migrate(this.#pool, this.#schemas.account(account.id), 'client'),
			});
	}

	async startWriting(events: WriterEvents): Promise<ServingWriter> {
		this.#onTrouble = (error) => events.onTrouble('postgres', error.message);
		return new PostgresWriter(this.#address, this.#schemas, events);
	}

	async backup(): Promise<void> {
		throw new OperatorError(
			"'caskade backup' copies a data folder; on PostgreSQL use pg_dump or your server's own backups.",
		);
	}

	async *examine(): AsyncIterable<Finding> {
		const { rows } = await this.#pool.query('SHOW server_version');
		yield { check: 'server', ok: true, detail: `PostgreSQL ${rows[0].server_version}` };
		yield await this.#examineSchema('control schema', this.#schemas.control, 'control');
		for (const account of await this.control.accounts())
			yield await this.#examineSchema(`account ${account.aid}`, this.#schemas.account(account.id), 'client');
		yield examineKeys(await this.control.keys());
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

	/** Servers of other machines cannot be kept away; a copy that they have outrun finds it out. */
	keepServersAway(): () => void {
		return () => {};
	}

	importer(): Promise<Importer> {
		return PostgresImporter.open(this.#pool, this.#schemas);
	}

	async close(): Promise<void> {
		await Promise.all([this.#controlDatabase.destroy(), this.#pool.end()]);
	}
}
