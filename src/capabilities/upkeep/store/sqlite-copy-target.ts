import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type ClientTable, clientTables } from '../../../core/store/account/client-tables.ts';
import type { ControlContent } from '../../../core/store/control/control-store.ts';
import { migrateAccountFile } from '../../../core/store/sqlite/engine/account-file.ts';
import { checkpointLongLog, emptyLogIfFree } from '../../../core/store/sqlite/engine/checkpoint.ts';
import { DataFolder, type FolderLock, takeFolder } from '../../../core/store/sqlite/engine/data-folder.ts';
import { openDatabase, undoInMemory } from '../../../core/store/sqlite/engine/sqlite-connection.ts';
import type { Value } from '../../../core/store/steps.ts';
import { type CopyTarget, checkCopyTarget, controlRows } from './copy-target.ts';

const busyTimeoutMs = 5000;
/** Holds much of the index of tids, which is written at random places. */
const cacheKiB = 64 * 1024;
/** SQLite takes at most 32,766 parameters, and more rows per INSERT make it no faster. */
const rowsPerInsert = 250;

/** Copies another store's content into a data folder that this process has locked. */
export class SqliteCopyTarget implements CopyTarget {
	readonly #folder: DataFolder;
	readonly #lock: FolderLock;
	readonly #control: DatabaseSync;
	/** The account that is being copied. Accounts are copied one after another. */
	#open: { accountId: number; database: DatabaseSync } | undefined;

	/** @throws OperatorError where another process has the folder */
	static open(path: string): SqliteCopyTarget {
		const folder = new DataFolder(path);
		const lock = takeFolder(
			folder,
			(named) => `A server, or a copy from or to it, runs on ${named}; stop it first.`,
		);
		return new SqliteCopyTarget(folder, lock);
	}

	private constructor(folder: DataFolder, lock: FolderLock) {
		this.#folder = folder;
		this.#lock = lock;
		this.#control = openDatabase(folder.controlPath, { busyTimeoutMs });
	}

	async begin(source: string, accountIds: readonly number[]): Promise<'new' | 'resumed'> {
		const { others } = this.#control
			.prepare(
				"SELECT (SELECT count(*) FROM client) + (SELECT count(*) FROM plan WHERE name <> 'standard') AS others",
			)
			.get() as { others: number };
		const found = { source: this.#sourceUnderWay(), isEmpty: others === 0 };
		const begun = await checkCopyTarget(this, { source, accountIds }, found);
		if (begun === 'new')
			inTransaction(this.#control, () => {
				// This table exists only during a copy.
				this.#control.exec('CREATE TABLE copy_under_way (source TEXT NOT NULL) STRICT');
				this.#control.prepare('INSERT INTO copy_under_way (source) VALUES (?)').run(source);
			});
		return begun;
	}

	#sourceUnderWay(): string | undefined {
		const table = this.#control.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'copy_under_way'").get();
		return table && String(this.#control.prepare('SELECT source FROM copy_under_way').get()?.source);
	}

	async lastKey(accountId: number, table: ClientTable): Promise<Value[] | undefined> {
		if (!existsSync(this.#folder.accountPath(accountId))) return undefined;
		const { key } = clientTables[table];
		const row = this.#account(accountId)
			.prepare(
				`SELECT ${key.join(', ')} FROM ${table} ORDER BY ${key.map((column) => `${column} DESC`).join(', ')} LIMIT 1 /* last copied */`,
			)
			.get() as Readonly<Record<string, Value>> | undefined;
		return row && key.map((column) => row[column] as Value);
	}

	#account(accountId: number): DatabaseSync {
		if (this.#open?.accountId !== accountId) {
			this.#open?.database.close();
			const path = this.#folder.accountPath(accountId);
			const database = openDatabase(path, { busyTimeoutMs, cacheKiB, create: true });
			emptyLogIfFree(database);
			migrateAccountFile(this.#folder, database, accountId);
			undoInMemory(database);
			this.#open = { accountId, database };
		}
		return this.#open.database;
	}

	async addRows(accountId: number, table: ClientTable, rows: readonly (readonly Value[])[]): Promise<void> {
		const database = this.#account(accountId);
		inTransaction(database, () => {
			for (let from = 0; from < rows.length; from += rowsPerInsert)
				insert(database, table, clientTables[table].columns, rows.slice(from, from + rowsPerInsert));
		});
		checkpointLongLog(database);
	}

	async finish(content: ControlContent): Promise<void> {
		inTransaction(this.#control, () => {
			// Rows that every new store has, or that a server started on the empty store has made.
			this.#control.exec('DELETE FROM plan; DELETE FROM signing_key');
			for (const table of Object.keys(content)) {
				const { columns, rows } = controlRows(content, table);
				for (const row of rows) insert(this.#control, table, columns, [row]);
			}
			this.#control.exec('UPDATE revision SET number = number + 1; DROP TABLE copy_under_way');
		});
	}

	async close(): Promise<void> {
		this.#open?.database.close();
		this.#control.close();
		this.#lock.release();
	}
}

function insert(
	database: DatabaseSync,
	table: string,
	columns: readonly string[],
	rows: readonly (readonly Value[])[],
): void {
	const values = rows.map(() => `(${columns.map(() => '?').join(', ')})`).join(', ');
	database
		.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${values} /* copy */`)
		.run(...rows.flat());
}

function inTransaction(database: DatabaseSync, fn: () => void): void {
	database.exec('BEGIN IMMEDIATE');
	try {
		fn();
		database.exec('COMMIT');
	} catch (error) {
		if (database.isTransaction) database.exec('ROLLBACK');
		throw error;
	}
}
