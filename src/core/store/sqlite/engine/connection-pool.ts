import type { DatabaseSync } from 'node:sqlite';
import { monotonicMs } from '../../../clock.ts';
import { StorageError } from '../../../errors.ts';
import { lendHandles, openClosing } from '../../file-handles.ts';
import { controlDatabaseId } from '../queue/messages.ts';
import { fileAt, logAt, lostSince, migrateAccountFile, openAccountFile } from './account-file.ts';
import { emptyLog, endIfMarked, restartLog, saveRemovedLog } from './checkpoint.ts';
import type { DataFolder } from './data-folder.ts';
import { BusyError, Connection, isBusy, openDatabase, undoInMemory } from './sqlite-connection.ts';
import { migrate } from './sqlite-migrate.ts';

/** Page cache between transactions. Uploads that join 30 visitors cost 11 % less with 32 MiB than with 8; hits and other uploads cost the same. */
const maxCacheKiB = 32 * 1024;
/** Page cache where the maximum number of databases is open: all caches together must fit into memory. */
const minCacheKiB = 512;
/** Pages of a transaction that stay in memory until COMMIT. Further ones may be written more than once. */
const spillKiB = 16 * 1024;

/** Minimum time between two attempts on a failed disk; other accounts wait during an attempt. */
const refusedMs = 250;

/**
 * The writer thread's open connections: the control database's, and those of the most recently used accounts. Each
 * costs three file handles and memory for pages, so their number is bounded, and lower when the process runs out of
 * handles.
 */
export class ConnectionPool {
	readonly #folder: DataFolder;
	readonly #maxOpen: number;
	/** Least recently used first. */
	readonly #open = new Map<number, Connection>();
	/** Identifies each database's file as of just before it was opened, see `fileAt`. */
	readonly #files = new Map<number, string | undefined>();
	/** Identifies each open database's write-ahead log as of then. */
	readonly #logs = new Map<number, string | undefined>();
	/** Databases whose log this process has restarted, and which have had no I/O error since. */
	readonly #recovered = new Set<number>();
	/**
	 * Connections that have met an I/O error. Each stays open until another has restarted the log. As long as anybody
	 * has the database open, SQLite does not count what a failed COMMIT left in its log.
	 */
	readonly #failed = new Map<number, Connection>();
	/** The current cache size of each open database. */
	#cacheKiB = maxCacheKiB;
	readonly #refused = new Map<number, { untilMs: number; error: unknown }>();
	readonly #keepHandles = lendHandles(() => this.#closeOldest());

	constructor(folder: DataFolder, maxOpen: number) {
		this.#folder = folder;
		this.#maxOpen = maxOpen;
	}

	/**
	 * The database's connection. After an I/O error it is usable only once its log has been restarted.
	 * @throws where the file is missing (an empty one in its place would hide a loss) or cannot be opened
	 */
	get(databaseId: number): Connection {
		this.#leaveIfGone(databaseId);
		let connection = this.#open.get(databaseId);
		if (connection) this.#open.delete(databaseId);
		else {
			if (this.#open.size >= this.#maxOpen) this.#closeOldest();
			connection = openClosing(() => this.#openConnection(databaseId));
		}
		this.#open.set(databaseId, connection);
		this.#shareCache(connection);
		return connection;
	}

	/**
	 * Divides the page cache between the open databases. The size changes in few steps, because every connection must
	 * be told.
	 */
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

	/** @returns false if there is none to close */
	#closeOldest(): boolean {
		const oldest = this.#open.keys().find((databaseId) => databaseId !== controlDatabaseId);
		if (oldest === undefined) return false;
		this.close(oldest);
		return true;
	}

	#openConnection(databaseId: number): Connection {
		const isControl = databaseId === controlDatabaseId;
		// Never waits for a lock: other accounts would wait, too.
		const options = { busyTimeoutMs: 0, cacheKiB: maxCacheKiB, spillKiB };
		this.#files.set(databaseId, fileAt(this.path(databaseId)));
		const database = isControl
			? openDatabase(this.#folder.controlPath, options)
			: openAccountFile(this.#folder, databaseId, options);
		try {
			if (!this.#recovered.has(databaseId)) this.#recover(databaseId, database);
			if (isControl) migrate(database, 'control');
			else migrateAccountFile(this.#folder, database, databaseId);
			undoInMemory(database);
		} catch (error) {
			database.close();
			throw error;
		}
		this.#logs.set(databaseId, logAt(this.path(databaseId)));
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

	/** Closes databases whose files were replaced or deleted. */
	closeGone(onError: (databaseId: number, error: unknown) => void): void {
		for (const databaseId of [...this.#open.keys(), ...this.#failed.keys()]) {
			try {
				this.#leaveIfGone(databaseId);
			} catch (error) {
				if (!isBusy(error)) onError(databaseId, error);
			}
		}
	}

	/**
	 * What is written to a file that was replaced or deleted is lost with the process. If only the log is gone, this
	 * connection still has what was acknowledged, and saves it. Readers of this process notice meanwhile.
	 */
	#leaveIfGone(databaseId: number): void {
		const connection = this.#open.get(databaseId);
		if (!connection && !this.#failed.has(databaseId)) return;
		const opened = { file: this.#files.get(databaseId), log: this.#logs.get(databaseId) };
		const lost = lostSince(this.path(databaseId), opened);
		if (lost === 'file') this.#forget(databaseId);
		if (lost !== 'log' || !connection) return;
		saveRemovedLog(connection.database);
		if (databaseId === controlDatabaseId)
			throw new StorageError('the write-ahead log was removed while it was open; restart the server');
		this.#forget(databaseId);
		const error = new StorageError('the write-ahead log was removed while it was open; its content is saved');
		this.#refused.set(databaseId, { untilMs: monotonicMs() + refusedMs, error });
		throw error;
	}

	/** Drops all state of a database whose file was replaced or deleted. */
	#forget(databaseId: number): void {
		this.close(databaseId);
		this.#failed.get(databaseId)?.database.close();
		this.#failed.delete(databaseId);
		this.#recovered.delete(databaseId);
		this.#refused.delete(databaseId);
	}

	/** To be called when a database has had an I/O error. */
	markFailed(databaseId: number): void {
		this.#recovered.delete(databaseId);
		const connection = this.#open.get(databaseId);
		if (!connection) return;
		this.#open.delete(databaseId);
		if (this.#failed.has(databaseId)) connection.database.close();
		else this.#failed.set(databaseId, connection);
	}

	/** The paths of the open databases. */
	openPaths(): Map<number, string> {
		return new Map(this.#open.keys().map((databaseId) => [databaseId, this.path(databaseId)]));
	}

	path(databaseId: number): string {
		return databaseId === controlDatabaseId ? this.#folder.controlPath : this.#folder.accountPath(databaseId);
	}

	close(databaseId: number): void {
		const database = this.#open.get(databaseId)?.database;
		if (database) endIfMarked(database);
		database?.close();
		this.#open.delete(databaseId);
	}

	closeAll(): void {
		this.#keepHandles();
		for (const databaseId of [...this.#open.keys()]) this.close(databaseId);
		for (const { database } of this.#failed.values()) database.close();
		this.#failed.clear();
	}
}
