import { statSync, writeFileSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { BusyError, isFailedSync, isIoError, keptLogBytes, withoutWaiting } from './sqlite-connection.ts';
import { schemaVersion } from './sqlite-migrate.ts';

/** 128 MiB. In a series of transactions, a page that several of them wrote is then copied only once. */
const longLogPages = 32_768;

/** The bytes of a database's write-ahead log on the disk. */
export function logBytes(path: string): number {
	return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** The length of a write-ahead log, and how much of it checkpoints have copied into the database; in pages. */
export function logState(database: DatabaseSync): { logged: number; copied: number } {
	const row = database.prepare('PRAGMA wal_checkpoint(NOOP)').get();
	return { logged: Number(row?.log), copied: Number(row?.checkpointed) };
}

/**
 * Copies a write-ahead log into its database. TRUNCATE copies all of it and empties the log.
 *
 * Ends the process at once if an fsync fails after an earlier checkpoint has copied a part of this log. After a failed
 * fsync, Linux treats the pages that it did not write as written. Pages that do not count as copied are safe: the log
 * still has them, and they are copied again. But SQLite counts a part as copied before it has synced it, because it
 * syncs the database only when the whole log is copied. Only a process that opens the database while nobody else has it
 * open counts again and copies everything again. Nothing may be closed before that, because closing trusts the count and
 * deletes the log. All processes share the count, so a mark beside the database ends the others, too.
 * @returns whether nobody else was in the way
 */
export function checkpoint(database: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): boolean {
	endIfMarked(database);
	try {
		return database.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.busy === 0;
	} catch (error) {
		if (isFailedSync(error) && logState(database).copied > 0) {
			markUnsynced(database);
			endProcess();
		}
		throw error;
	}
}

/** After the name of a database: when a process ended because of a failed fsync. Those that are younger count again. */
export const markSuffix = '-unsynced';

function markUnsynced(database: DatabaseSync): void {
	try {
		writeFileSync(database.location() + markSuffix, '', { mode: 0o600 });
	} catch {
		// The disk fails. What is certain is that this process must close nothing.
	}
}

/** To be called before closing, too: SQLite copies the log then. */
export function endIfMarked(database: DatabaseSync): void {
	const mark = statSync(database.location() + markSuffix, { throwIfNoEntry: false });
	const startedAtMs = Date.now() - process.uptime() * 1000;
	if (mark && mark.mtimeMs > startedAtMs) endProcess();
}

/**
 * Copies a log that was removed while it was open: only connections from before still have it.
 * @throws BusyError while a reader is in the way
 */
export function saveRemovedLog(database: DatabaseSync): void {
	checkpoint(database, 'PASSIVE');
	const { logged, copied } = logState(database);
	if (copied < logged) throw new BusyError();
}

function endProcess(): void {
	const entry = {
		level: 'fatal',
		time: new Date(),
		msg: 'an fsync failed after part of a write-ahead log was copied; only a new process can tell what the disk has',
	};
	writeSync(2, `${JSON.stringify(entry)}\n`);
	process.kill(process.pid, 'SIGKILL');
}

/** For code that commits much in a row. SQLite's own checkpoint at a COMMIT would not report a failure. */
export function checkpointLongLog(database: DatabaseSync): void {
	if (logState(database).logged > longLogPages) checkpoint(database, 'PASSIVE');
}

/**
 * Makes all content of a database durable in its own file, and empties its write-ahead log. What an earlier process
 * left in the log may not have reached the disk, and a power cut would then lose everything committed after the gap.
 * @returns false if others are using the database; it waits for nobody
 */
export function emptyLog(database: DatabaseSync): boolean {
	// Nobody can write while the last part is copied, so this must not wait for readers.
	return withoutWaiting(database, () => checkpoint(database, 'PASSIVE') && checkpoint(database, 'TRUNCATE'));
}

/** For commands: if a server has the database open, the server has done so. A full disk must not prevent reading. */
export function emptyLogIfFree(database: DatabaseSync): void {
	try {
		emptyLog(database);
	} catch (error) {
		if (isIoError(error)) throw error;
	}
}

/**
 * Empties the log after a failed COMMIT, on another connection. A commit that changes nothing replaces what the failed one
 * left in the log, so that it can never count as committed. It also proves that the log can be written.
 */
export function restartLog(database: DatabaseSync): boolean {
	database.exec('BEGIN IMMEDIATE');
	database.exec(`PRAGMA user_version = ${schemaVersion(database)}`);
	database.exec('COMMIT');
	return emptyLog(database);
}

/** The checkpointing thread's report on a log, with a reason if an I/O error prevented copying it. */
export interface CheckpointReport {
	readonly databaseId: number;
	readonly reason: string | undefined;
	/** Whether a reader has kept some of it from being copied: it sees the database as it was before. */
	readonly isHeld: boolean;
}

/**
 * Copies what can be copied of a log, while others read and write, and shortens its file where all of it is copied and nobody
 * uses it.
 * @returns whether a reader was in the way
 */
export function copyLog(database: DatabaseSync): boolean {
	const before = logState(database);
	const isFree = checkpoint(database, 'PASSIVE');
	const { logged, copied } = logState(database);
	if (copied === logged && logBytes(String(database.location())) > keptLogBytes)
		checkpoint(database, 'TRUNCATE');
	// A shorter log has begun anew meanwhile.
	return isFree && logged >= before.logged && copied < before.logged;
}
