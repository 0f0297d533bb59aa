import { writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { isFailedSync, isIoError } from './connection.ts';
import { schemaVersion } from './migrate.ts';

/** 128 MiB: of transactions in a row, a page that several have written is copied once. */
const longLogPages = 32_768;

/** How much a write-ahead log holds, and how much of that a checkpoint has copied into the database; in pages. */
export function logState(database: DatabaseSync): { logged: number; copied: number } {
	const row = database.prepare('PRAGMA wal_checkpoint(NOOP)').get();
	return { logged: Number(row?.log), copied: Number(row?.checkpointed) };
}

/**
 * Copies a write-ahead log into its database; with TRUNCATE all of it, so that the log is empty afterwards.
 *
 * Ends the process at once where an fsync fails and an earlier checkpoint has copied a part of this log. After a failed
 * fsync Linux takes the pages that it did not write for written. What is not counted as copied will be copied again, and
 * until then the log has it. But SQLite counts a part as copied without syncing it: it syncs the database when the whole
 * log is in it. Only a process that opens the database when nobody else has it open counts anew, and copies all again.
 * Nothing may be closed before that, since closing trusts the count and deletes the log.
 * @returns whether nobody else was in the way
 */
export function checkpoint(database: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): boolean {
	try {
		return database.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.busy === 0;
	} catch (error) {
		if (isFailedSync(error) && logState(database).copied > 0) endProcess();
		throw error;
	}
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

/** For who commits much in a row; SQLite's own checkpoint at a COMMIT would keep a failure to itself. */
export function checkpointLongLog(database: DatabaseSync): void {
	if (logState(database).logged > longLogPages) checkpoint(database, 'PASSIVE');
}

/**
 * Brings all of a database durably into its own file, and empties its write-ahead log: what an earlier process has left
 * there may not have reached the disk, and what is committed behind a gap is lost with it when the power fails.
 * @returns false where others read or write the database; it waits for nobody
 */
export function emptyLog(database: DatabaseSync): boolean {
	const busyTimeoutMs = Number(database.prepare('PRAGMA busy_timeout').get()?.timeout);
	// While the last of it is copied nobody can write, so nobody shall wait in there for those who read.
	database.exec('PRAGMA busy_timeout = 0');
	try {
		return checkpoint(database, 'PASSIVE') && checkpoint(database, 'TRUNCATE');
	} finally {
		database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
	}
}

/** For commands: a server that has the database open has done so. On a full disk they may still read. */
export function emptyLogIfFree(database: DatabaseSync): void {
	try {
		emptyLog(database);
	} catch (error) {
		if (isIoError(error)) throw error;
	}
}

/**
 * The same after a COMMIT that has failed, on another connection. What it has left in the log can never be taken for
 * committed any more: a commit that changes nothing takes its place, and shows that the log can be written.
 */
export function restartLog(database: DatabaseSync): boolean {
	database.exec('BEGIN IMMEDIATE');
	database.exec(`PRAGMA user_version = ${schemaVersion(database)}`);
	database.exec('COMMIT');
	return emptyLog(database);
}

/** What the checkpointing thread says of a log; with a reason where an I/O error kept it from being copied. */
export interface Checkpointed {
	readonly databaseId: number;
	readonly reason: string | undefined;
}
