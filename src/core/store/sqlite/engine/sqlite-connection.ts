import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/**
 * A log that has begun anew is shortened to this size. It is longer than it gets under continuous writes, so that its file is not
 * shortened and lengthened all the time.
 */
export const keptLogBytes = 32 * 2 ** 20;

/** SQLite's result code of an error, without what extends it; undefined where the error is of other origin. */
export function resultCode(error: unknown): number | undefined {
	const code = (error as { errcode?: unknown } | null)?.errcode;
	return typeof code === 'number' ? code & 0xff : undefined;
}

/** For a lock that another connection holds: SQLITE_BUSY and SQLITE_LOCKED. */
const busyCodes: ReadonlySet<number | undefined> = new Set([5, 6]);

/** Whether the error is one of these, in any of their extended forms. */
export function isBusy(error: unknown): boolean {
	return busyCodes.has(resultCode(error));
}

/** SQLITE_IOERR_FSYNC. */
const failedSync = 1034;

/** Whether a disk failed to read, write or sync. A full disk is not such a failure. */
export function isIoError(error: unknown): boolean {
	return resultCode(error) === 10;
}

export function isFailedSync(error: unknown): boolean {
	return (error as { errcode?: unknown } | null)?.errcode === failedSync;
}

/** Another connection uses the database; try again. */
export class BusyError extends Error {
	readonly errcode = 5;

	constructor() {
		super('the database is in use');
		this.name = 'BusyError';
	}
}

/**
 * Opens a database in WAL mode with `synchronous=FULL`: a COMMIT that was answered survives a power cut. Code that
 * writes much must copy the write-ahead log itself, see `checkpoint.ts`; SQLite copies it when the last connection
 * closes.
 * @param options.busyTimeoutMs how long a statement waits for another connection's lock
 * @param options.create creates a missing file; by default it is an error, because an empty database would hide a loss
 */
export function openDatabase(
	path: string,
	options: {
		busyTimeoutMs: number;
		readOnly?: boolean;
		create?: boolean;
		cacheKiB?: number;
		spillKiB?: number;
	},
): DatabaseSync {
	const mode = options.readOnly ? 'ro' : options.create ? 'rwc' : 'rw';
	const database = new DatabaseSync(new URL(`?mode=${mode}`, pathToFileURL(path)), {
		timeout: options.busyTimeoutMs,
		readOnly: options.readOnly ?? false,
	});
	try {
		if (!options.readOnly) {
			useWriteAheadLog(database, options.busyTimeoutMs);
			database.exec('PRAGMA synchronous = FULL');
			database.exec('PRAGMA wal_autocheckpoint = 0');
			database.exec(`PRAGMA journal_size_limit = ${keptLogBytes}`);
			// Deleted and moved data is overwritten, so that an erasure leaves nothing in the remaining pages.
			database.exec('PRAGMA secure_delete = ON');
		}
		if (options.cacheKiB) database.exec(`PRAGMA cache_size = -${options.cacheKiB}`);
		if (options.spillKiB) database.exec(`PRAGMA cache_spill = -${options.spillKiB}`);
	} catch (error) {
		database.close();
		throw error;
	}
	return database;
}

/** Does something without waiting for locks. */
export function withoutWaiting<Outcome>(database: DatabaseSync, act: () => Outcome): Outcome {
	const busyTimeoutMs = Number(database.prepare('PRAGMA busy_timeout').get()?.timeout);
	database.exec('PRAGMA busy_timeout = 0');
	try {
		return act();
	} finally {
		if (database.isOpen) database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
	}
}

/**
 * Keeps in memory what a savepoint or a statement may have to undo. Otherwise SQLite writes all of it beyond 64 KiB to a
 * temporary file outside of the data folder. That takes half of an upload's CPU, and leaves customers' data there. Sorts
 * stay in memory, too, so this is not for connections that sort whole tables, as migrations and reports do.
 */
export function undoInMemory(database: DatabaseSync): void {
	database.exec('PRAGMA temp_store = MEMORY');
}

/** Retries, because the change to WAL ignores the busy timeout when two connections race for it on a new file. */
function useWriteAheadLog(database: DatabaseSync, busyTimeoutMs: number): void {
	const giveUpAt = performance.now() + busyTimeoutMs;
	for (;;) {
		try {
			database.exec('PRAGMA journal_mode = WAL');
			return;
		} catch (error) {
			if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
		}
	}
}

/** A connection of the writer thread, with its prepared statements. */
export class Connection {
	readonly database: DatabaseSync;
	/** Whether background work was created since this was last reset. */
	wakes = false;
	readonly #statements = new Map<string, StatementSync>();

	constructor(database: DatabaseSync) {
		this.database = database;
	}

	/** Its page cache between transactions; undefined until it is set. */
	cacheKiB: number | undefined;

	useCache(cacheKiB: number): void {
		this.database.exec(`PRAGMA cache_size = -${cacheKiB}`);
		this.cacheKiB = cacheKiB;
	}

	/** Prepares a statement once for each text. There must be few texts. */
	statement(sql: string): StatementSync {
		let statement = this.#statements.get(sql);
		if (!statement) {
			statement = this.database.prepare(sql);
			this.#statements.set(sql, statement);
		}
		return statement;
	}
}
