import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { OperatorError, reasonOf, StorageError } from '../../../errors.ts';
import { newestSchemas } from '../../migrations.ts';
import { sync } from '../../sync.ts';
import { markSuffix } from './checkpoint.ts';
import { type DataFolder, requireNoOlderServer } from './data-folder.ts';
import { openDatabase } from './sqlite-connection.ts';
import { latestSchema, migrate, schemaVersion } from './sqlite-migrate.ts';
import { turnSuffix } from './turns.ts';

const busyTimeoutMs = 5000;

/**
 * Opens an account's file as it is. Refuses any other file in its place and leaves it alone: an empty database would
 * hide that data is lost, and another account's database would mix their data.
 * @throws StorageError where the file is missing, empty or another account's; SQLite's own errors
 */
export function openAccountFile(
	folder: DataFolder,
	accountId: number,
	options: Parameters<typeof openDatabase>[1],
): DatabaseSync {
	const path = folder.accountPath(accountId);
	const file = statSync(path, { throwIfNoEntry: false });
	const refuse = (what: string) => new StorageError(`the file of account ${accountId} ${what}`);
	if (!file) throw refuse('is missing');
	if (file.size === 0) throw refuse('is empty');
	const database = openDatabase(path, options);
	try {
		if (schemaVersion(database) === 0) throw refuse('is empty');
		const owner = ownerOf(database);
		if (owner !== 0 && owner !== accountId) throw refuse(`is that of account ${owner}`);
		return database;
	} catch (error) {
		database.close();
		throw error;
	}
}

/** Each file begins with this. Its places are those of https://www.sqlite.org/fileformat.html. */
const header = { bytes: 100, magic: 'SQLite format 3\0', pageBytes: 16, pages: 28, version: 60, owner: 68 };

/**
 * The schema of an account's file, of which SQLite looks only into files with a log: a server with thousands of accounts starts in a
 * tenth of the time.
 * @throws as `openAccountFile`
 */
export function accountSchema(folder: DataFolder, accountId: number): number {
	const path = folder.accountPath(accountId);
	const file = statSync(path, { throwIfNoEntry: false });
	if (file?.isFile() && !existsSync(`${path}-wal`)) {
		const bytes = beginning(path);
		const version = bytes.readInt32BE(header.version);
		const isWhole =
			bytes.toString('latin1', 0, header.magic.length) === header.magic &&
			file.size >= bytes.readUInt16BE(header.pageBytes) * bytes.readUInt32BE(header.pages);
		if (isWhole && version > 0 && [0, accountId].includes(bytes.readInt32BE(header.owner))) return version;
	}
	using database = openAccountFile(folder, accountId, { busyTimeoutMs });
	return schemaVersion(database);
}

function beginning(path: string): Buffer {
	const bytes = Buffer.alloc(header.bytes);
	const file = openSync(path, 'r');
	try {
		readSync(file, bytes);
	} finally {
		closeSync(file);
	}
	return bytes;
}

/**
 * Migrates an account's open file to the newest schema, then writes the account's number into it. @returns how many
 * migrations it ran
 * @throws OperatorError if a server of an older version uses the folder
 */
export function migrateAccountFile(folder: DataFolder, database: DatabaseSync, accountId: number): number {
	const version = schemaVersion(database);
	if (version > 0 && version < latestSchema('client')) requireNoOlderServer(folder, newestSchemas('sqlite'));
	const migrations = migrate(database, 'client');
	if (migrations > 0) database.exec(`PRAGMA application_id = ${accountId}`);
	return migrations;
}

/**
 * Creates the file of a new account. Reuses a file that an interrupted creation has left.
 * @throws OperatorError where the file has rows or cannot be read, since it may be somebody's data
 */
export function createAccountFile(folder: DataFolder, accountId: number): void {
	const path = folder.accountPath(accountId);
	const isThere = existsSync(path);
	try {
		using database = openDatabase(path, { busyTimeoutMs, create: true });
		if (hasRows(database)) throw new StorageError('it has rows');
		migrateAccountFile(folder, database, accountId);
	} catch (error) {
		if (!isThere) throw error;
		throw new OperatorError(
			`${path} exists already, and belongs to an account that control.sqlite does not know (${reasonOf(error)}); restore the control.sqlite that knows it, or move the file away.`,
			{ cause: error },
		);
	}
}

function hasRows(database: DatabaseSync): boolean {
	const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
	return tables.some(({ name }) => database.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get());
}

/** The account's number from the file's header; 0 if there is none. */
function ownerOf(database: DatabaseSync): number {
	return Number(database.prepare('PRAGMA application_id').get()?.application_id);
}

/** Deletes an account's files, the database first: what is left of an interrupted deletion is no account. */
export function deleteAccountFile(folder: DataFolder, accountId: number): void {
	const path = folder.accountPath(accountId);
	for (const suffix of ['', '-wal', '-shm', markSuffix, turnSuffix]) rmSync(path + suffix, { force: true });
	sync(folder.accountsPath);
}

/** How often open files are looked for that were deleted or replaced. Until they are closed, they stay on the disk. */
export const goneEveryMs = 5000;

/** Identifies the file at a path. The result differs once the file is replaced or gone. */
export function fileAt(path: string): string | undefined {
	const file = statSync(path, { throwIfNoEntry: false });
	return file && `${file.dev} ${file.ino}`;
}

/** Identifies the write-ahead log of an open database, see `fileAt`. SQLite keeps it until the last connection closes. */
export function logAt(path: string): string | undefined {
	return fileAt(`${path}-wal`);
}

/** What becomes another text when something is written to a database. Its log is removed and made anew, empty, by who only reads. */
export function changeMarkOf(path: string): string | undefined {
	const file = statSync(path, { throwIfNoEntry: false });
	const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
	// Joined, not concatenated: texts of thousands of accounts would keep their parts.
	return (
		file && [file, ...(log?.size ? [log] : [])].flatMap(({ mtimeMs, size }) => [mtimeMs, size]).join(' ')
	);
}

/** The files of a database when it was opened, see `fileAt` and `logAt`. */
export interface OpenedFiles {
	readonly file?: string | undefined;
	readonly log?: string | undefined;
}

/** What somebody has replaced or deleted since a database was opened. */
export function lostSince(path: string, opened: OpenedFiles): 'file' | 'log' | undefined {
	if (fileAt(path) !== opened.file) return 'file';
	return logAt(path) === opened.log ? undefined : 'log';
}
