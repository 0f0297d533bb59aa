import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** SQLite's result codes that mean "somebody else holds the lock; try again". */
const busyCodes = new Set([5, 6]);

/** Whether the error is SQLITE_BUSY or SQLITE_LOCKED, in any of their extended forms. */
export function isBusy(error: unknown): boolean {
	const code = (error as { errcode?: unknown } | null)?.errcode;
	return typeof code === 'number' && busyCodes.has(code & 0xff);
}

/** SQLITE_IOERR_FSYNC. */
const failedSync = 1034;

/** Whether a disk has failed to read, write or sync; a full one is no such failure. */
export function isIoError(error: unknown): boolean {
	const code = (error as { errcode?: unknown } | null)?.errcode;
	return typeof code === 'number' && (code & 0xff) === 10;
}

export function isFailedSync(error: unknown): boolean {
	return (error as { errcode?: unknown } | null)?.errcode === failedSync;
}

/** Somebody else uses the database; try again. */
export class BusyError extends Error {
	readonly errcode = 5;

	constructor() {
		super('the database is in use');
		this.name = 'BusyError';
	}
}

/**
 * Opens a database in WAL mode with `synchronous=FULL`: what a COMMIT has answered survives a power cut.
 * Whoever writes much copies the write-ahead log back, see `checkpoint.ts`; but for the last one who closes a database.
 * @param options.busyTimeoutMs how long a statement waits for another connection's lock
 * @param options.create makes the file where it is missing; else that is an error, as an empty one would hide a loss
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
			// What is deleted or moved is overwritten, so that an erasure leaves nothing in pages that stay.
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

/** The change to WAL ignores the busy timeout when two connections race for it on a new file. */
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

/** A connection of the writer thread with its prepared statements. Exists only inside the writer thread. */
export class Connection {
	readonly database: DatabaseSync;
	/** Whether something has been left to the background since this was last looked at. */
	wakes = false;
	readonly #statements = new Map<string, StatementSync>();

	constructor(database: DatabaseSync) {
		this.database = database;
	}

	/** Pages that it keeps between transactions; undefined where it is as it was opened. */
	cacheKiB: number | undefined;

	useCache(cacheKiB: number): void {
		this.database.exec(`PRAGMA cache_size = -${cacheKiB}`);
		this.cacheKiB = cacheKiB;
	}

	/** The statement for this text, prepared once. The texts must be few. */
	statement(sql: string): StatementSync {
		let statement = this.#statements.get(sql);
		if (!statement) {
			statement = this.database.prepare(sql);
			this.#statements.set(sql, statement);
		}
		return statement;
	}
}
