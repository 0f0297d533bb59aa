import { existsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { OperatorError, reasonOf, StorageError } from '../../errors.ts';
import { openDatabase } from './connection.ts';
import type { DataFolder } from './data-folder.ts';
import { migrate, schemaVersion } from './migrate.ts';

const busyTimeoutMs = 5000;

/**
 * Opens an account's file as it is. Whatever else lies in its place is refused and left alone: an empty database there would
 * hide that data is lost, and another account's would take what is this one's.
 * @throws StorageError where it is missing, empty or another account's; SQLite's own errors
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

/** Brings an open account's file to the newest schema; then it says whose it is. @returns how many migrations it ran */
export function migrateAccountFile(database: DatabaseSync, accountId: number): number {
	const migrations = migrate(database, 'client');
	if (migrations > 0) database.exec(`PRAGMA application_id = ${accountId}`);
	return migrations;
}

/**
 * Makes the file of a new account. One that a creation has left behind which did not end is used.
 * @throws OperatorError where a file is there that has rows in it, or that cannot be read: somebody's data
 */
export function createAccountFile(folder: DataFolder, accountId: number): void {
	const path = folder.accountPath(accountId);
	const isThere = existsSync(path);
	try {
		using database = openDatabase(path, { busyTimeoutMs, create: true });
		if (hasRows(database)) throw new StorageError('it has rows');
		migrateAccountFile(database, accountId);
	} catch (error) {
		if (!isThere) throw error;
		throw new OperatorError(
			`${path} is there already, of an account that control.sqlite does not know (${reasonOf(error)}); restore the control.sqlite that knows it, or move the file away.`,
			{ cause: error },
		);
	}
}

function hasRows(database: DatabaseSync): boolean {
	const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
	return tables.some(({ name }) => database.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get());
}

/** The account's number in the file's header; 0 where there is none. */
function ownerOf(database: DatabaseSync): number {
	return Number(database.prepare('PRAGMA application_id').get()?.application_id);
}

/** What is at a path at the moment; another file there later, or none, is something else. */
export function fileAt(path: string): string | undefined {
	const file = statSync(path, { throwIfNoEntry: false });
	return file && `${file.dev} ${file.ino}`;
}
