import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type DatabaseKind, migrationFiles, SchemaTooNewError } from '../migrations.ts';
import { openDatabase } from './connection.ts';

export function latestSchema(kind: DatabaseKind): number {
	return migrationFiles('sqlite', kind).length;
}

/**
 * The schema version in the header of a database file, without opening the database: a thousand files are looked at
 * in a moment. May be behind after a crash, while the newest is still in the write-ahead log.
 * Source: https://www.sqlite.org/fileformat.html, "user version number", offset 60.
 */
export function schemaVersionOnDisk(path: string): number {
	const file = openSync(path, 'r');
	try {
		const header = Buffer.alloc(100);
		readSync(file, header, 0, header.length, 0);
		return header.readUInt32BE(60);
	} finally {
		closeSync(file);
	}
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
 * Brings an account's file to the newest schema; most have it, which one look at the file tells.
 * @param busyTimeoutMs how long it waits for another connection's lock
 */
export function migrateFile(path: string, busyTimeoutMs = 5000): number {
	if (schemaVersionOnDisk(path) === latestSchema('client')) return 0;
	const database = openDatabase(path, { busyTimeoutMs });
	try {
		return migrate(database, 'client');
	} finally {
		database.close();
	}
}
