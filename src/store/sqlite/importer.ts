import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { ControlContent } from '../control.ts';
import {
	controlColumns,
	controlRows,
	controlTables,
	howToBegin,
	type Importer,
	type SubscriptionEventRow,
} from '../importer.ts';
import { openDatabase } from './connection.ts';
import type { DataFolder, FolderLock } from './data-folder.ts';

const busyTimeoutMs = 5000;
/** Much of the index of tids, which is written at random places. */
const cacheKiB = 64 * 1024;
/** Rows of one INSERT: SQLite takes 32,766 parameters, and preparing many does not get faster. */
const rowsPerInsert = 250;

/** Takes over another store's content into a data folder that this process has locked. */
export class SqliteImporter implements Importer {
	readonly #folder: DataFolder;
	readonly #lock: FolderLock;
	readonly #control: DatabaseSync;
	/** The account that is being copied; they come one after the other. */
	#open: { accountId: number; database: DatabaseSync } | undefined;

	constructor(folder: DataFolder, lock: FolderLock) {
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
		const begun = await howToBegin(this, { source, accountIds }, found);
		if (begun === 'new')
			inTransaction(this.#control, () => {
				// Only there while a copy is under way.
				this.#control.exec('CREATE TABLE copy_under_way (source TEXT NOT NULL) STRICT');
				this.#control.prepare('INSERT INTO copy_under_way (source) VALUES (?)').run(source);
			});
		return begun;
	}

	#sourceUnderWay(): string | undefined {
		const table = this.#control.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'copy_under_way'").get();
		return table && String(this.#control.prepare('SELECT source FROM copy_under_way').get()?.source);
	}

	async lastEventId(accountId: number): Promise<number> {
		if (!existsSync(this.#folder.accountPath(accountId))) return 0;
		const row = this.#account(accountId)
			.prepare('SELECT max(id) AS id FROM subscription_event /* last copied */')
			.get();
		return Number(row?.id ?? 0);
	}

	#account(accountId: number): DatabaseSync {
		if (this.#open?.accountId !== accountId) {
			this.#open?.database.close();
			const database = openDatabase(this.#folder.accountPath(accountId), { busyTimeoutMs, cacheKiB });
			this.#open = { accountId, database };
		}
		return this.#open.database;
	}

	async addEvents(accountId: number, rows: readonly SubscriptionEventRow[]): Promise<void> {
		const database = this.#account(accountId);
		inTransaction(database, () => {
			for (let from = 0; from < rows.length; from += rowsPerInsert) {
				const some = rows.slice(from, from + rowsPerInsert);
				const values = some.map(() => '(?, ?, ?, ?, ?, ?, ?)').join(', ');
				database
					.prepare(
						`INSERT INTO subscription_event (id, tid, subid, cid, evt, rvn, received_at) VALUES ${values} /* copy */`,
					)
					.run(
						...some.flatMap((row) => [
							row.id,
							row.tid,
							row.subid,
							row.cid,
							row.evt,
							row.rvn,
							row.received_at,
						]),
					);
			}
		});
	}

	async finish(content: ControlContent): Promise<void> {
		inTransaction(this.#control, () => {
			// What every store has from the start, and what a server that was started on the empty place has made.
			this.#control.exec('DELETE FROM plan; DELETE FROM signing_key');
			for (const table of controlTables) {
				const columns = controlColumns[table];
				const insert = this.#control.prepare(
					`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) /* copy */`,
				);
				for (const row of controlRows(content, table)) insert.run(...row);
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
