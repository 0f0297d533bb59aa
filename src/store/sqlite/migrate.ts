import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type DatabaseKind, migrationFiles, SchemaTooNewError } from '../migrations.ts';
import { openDatabase } from './connection.ts';

export function latestSchema(kind: DatabaseKind): number {
	return migrationFiles('sqlite', kind).length;
}

export function schemaVersion(database: DatabaseSync): number {
	return Number(database.prepare('PRAGMA user_version').get()?.user_version);
}

/**
 * Brings a database to the latest schema in one transaction; of several processes that try at once, one does it
 * and the others see it done.
 * @returns how many migrations it ran
 * @throws SchemaTooNewError, and touches nothing
 */
export function migrate(database: DatabaseSync, kind: DatabaseKind): number {
	const files = migrationFiles('sqlite', kind);
	const check = () => {
		const version = schemaVersion(database);
		if (version > files.length) throw new SchemaTooNewError(kind, version, files.length);
		return version;
	};
	if (check() === files.length) return 0;
	database.exec('BEGIN IMMEDIATE');
	try {
		const version = check();
		for (const path of files.slice(version)) database.exec(readFileSync(path, 'utf8'));
		database.exec(`PRAGMA user_version = ${files.length}`);
		database.exec('COMMIT');
		return files.length - version;
	} catch (error) {
		if (database.isTransaction) database.exec('ROLLBACK');
		throw error;
	}
}

/**
 * Brings an account's file to the newest schema.
 * @param busyTimeoutMs how long it waits for another connection's lock
 */
export function migrateFile(path: string, busyTimeoutMs = 5000): number {
	using database = openDatabase(path, { busyTimeoutMs });
	return migrate(database, 'client');
}

/**
 * The schema version of an account's file, which stays as it is; a quarter of a millisecond. Read through SQLite: whoever
 * opens a database file and closes it again loses every lock that its process holds on it, those of SQLite among them, and
 * another process then takes the write-ahead log for one that nobody uses.
 * Source: https://www.sqlite.org/howtocorrupt.html, section 2.2.
 */
export function schemaVersionOf(path: string): number {
	using database = new DatabaseSync(path);
	return schemaVersion(database);
}
