import type { DatabaseSync } from 'node:sqlite';
import { monotonicMs } from '../../clock.ts';
import { openClosing } from '../file-handles.ts';
import { fileAt, migrateAccountFile, openAccountFile } from './account-file.ts';
import { emptyLog, restartLog } from './checkpoint.ts';
import { BusyError, Connection, isBusy, openDatabase } from './connection.ts';
import type { DataFolder } from './data-folder.ts';
import { controlDatabaseId } from './messages.ts';
import { migrate } from './migrate.ts';

/**
 * Pages kept between transactions. Few: after a transaction that has split a page, SQLite looks through all of them,
 * which costs a hit more than reading a page again from the system's cache does.
 */
const maxCacheKiB = 2 * 1024;
/** The same when as many databases are open as may be: all caches together must fit into memory. */
const minCacheKiB = 512;
/** Pages of one transaction that stay in memory until COMMIT; those beyond may be written more than once. */
const spillKiB = 16 * 1024;

/** How soon a disk that has failed is tried again; other accounts wait meanwhile. */
const refusedMs = 250;

/**
 * The writer thread's open connections: the control database's, and those of the accounts used most recently.
 * Bounded, because each costs three file handles and memory for pages; and fewer where the process has no handles left.
 */
export class ConnectionPool {
	readonly #folder: DataFolder;
	readonly #maxOpen: number;
	/** In order of use: the first was used longest ago. */
	readonly #open = new Map<number, Connection>();
	/** Which file each database was, just before it was opened. */
	readonly #files = new Map<number, string | undefined>();
	/** Databases whose log this process has begun anew, and which have met no I/O error since. */
	readonly #recovered = new Set<number>();
	/**
	 * Connections that have met an I/O error. They stay open until another has begun the log anew: as long as anybody has
	 * a database open, what a COMMIT that failed has left in its log does not count.
	 */
	readonly #failed = new Map<number, Connection>();
	/** Of each database that is open. */
	#cacheKiB = maxCacheKiB;
	readonly #refused = new Map<number, { untilMs: number; error: unknown }>();

	constructor(folder: DataFolder, maxOpen: number) {
		this.#folder = folder;
		this.#maxOpen = maxOpen;
	}

	/**
	 * The database's connection. Where it has met an I/O error, not before its log was begun anew.
	 * @throws where the file is missing (an empty one in its place would hide a loss) or cannot be opened
	 */
	get(databaseId: number): Connection {
		// What is written to a file that has lost its name is lost with the process.
		if (this.#open.has(databaseId) && fileAt(this.path(databaseId)) !== this.#files.get(databaseId))
			this.#forget(databaseId);
		let connection = this.#open.get(databaseId);
		if (connection) this.#open.delete(databaseId);
		else {
			if (this.#open.size >= this.#maxOpen) this.#closeOldest();
			connection = openClosing(
				() => this.#openConnection(databaseId),
				() => this.#closeOldest(),
			);
		}
		this.#open.set(databaseId, connection);
		this.#shareCache(connection);
		return connection;
	}

	/** Gives each open database its share of the pages. It changes at few numbers of them, as all are told. */
	#shareCache(opened: Connection): void {
		const share = (this.#maxOpen * minCacheKiB) / this.#open.size;
		const cacheKiB = Math.max(minCacheKiB, Math.min(maxCacheKiB, 2 ** Math.floor(Math.log2(share))));
		if (cacheKiB === this.#cacheKiB) {
			if (opened.cacheKiB !== cacheKiB) opened.useCache(cacheKiB);
			return;
		}
		this.#cacheKiB = cacheKiB;
		for (const connection of this.#open.values()) connection.useCache(cacheKiB);
	}

	/** @returns false where there is none that may be closed */
	#closeOldest(): boolean {
		const oldest = this.#open.keys().find((databaseId) => databaseId !== controlDatabaseId);
		if (oldest === undefined) return false;
		this.close(oldest);
		return true;
	}

	#openConnection(databaseId: number): Connection {
		const isControl = databaseId === controlDatabaseId;
		// Never waits for a lock: the other accounts would wait with it.
		const options = { busyTimeoutMs: 0, cacheKiB: maxCacheKiB, spillKiB };
		this.#files.set(databaseId, fileAt(this.path(databaseId)));
		const database = isControl
			? openDatabase(this.#folder.controlPath, options)
			: openAccountFile(this.#folder, databaseId, options);
		try {
			if (!this.#recovered.has(databaseId)) this.#recover(databaseId, database);
			if (isControl) migrate(database, 'control');
			else migrateAccountFile(database, databaseId);
		} catch (error) {
			database.close();
			throw error;
		}
		return new Connection(database);
	}

	#recover(databaseId: number, database: DatabaseSync): void {
		const refused = this.#refused.get(databaseId);
		if (refused && monotonicMs() < refused.untilMs) throw refused.error;
		const failed = this.#failed.get(databaseId);
		try {
			if (!(failed ? restartLog(database) : emptyLog(database))) throw new BusyError();
		} catch (error) {
			if (failed || !isBusy(error))
				this.#refused.set(databaseId, { untilMs: monotonicMs() + refusedMs, error });
			throw error;
		}
		this.#refused.delete(databaseId);
		this.#recovered.add(databaseId);
		failed?.database.close();
		this.#failed.delete(databaseId);
	}

	/** Begins anew with a database whose file is another now, or gone. */
	#forget(databaseId: number): void {
		this.close(databaseId);
		this.#failed.get(databaseId)?.database.close();
		this.#failed.delete(databaseId);
		this.#recovered.delete(databaseId);
		this.#refused.delete(databaseId);
	}

	/** To be called when a database has met an I/O error. */
	markFailed(databaseId: number): void {
		this.#recovered.delete(databaseId);
		const connection = this.#open.get(databaseId);
		if (!connection) return;
		this.#open.delete(databaseId);
		if (this.#failed.has(databaseId)) connection.database.close();
		else this.#failed.set(databaseId, connection);
	}

	path(databaseId: number): string {
		return databaseId === controlDatabaseId ? this.#folder.controlPath : this.#folder.accountPath(databaseId);
	}

	close(databaseId: number): void {
		this.#open.get(databaseId)?.database.close();
		this.#open.delete(databaseId);
	}

	closeAll(): void {
		for (const databaseId of [...this.#open.keys()]) this.close(databaseId);
		for (const { database } of this.#failed.values()) database.close();
		this.#failed.clear();
	}
}
