import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type DatabaseKind, migrationFiles, newestSchemaFile, SchemaTooNewError } from '../../migrations.ts';

export function latestSchema(kind: DatabaseKind): number {
	return migrationFiles('sqlite', kind).length;
}

export function schemaVersion(database: DatabaseSync): number {
	return Number(database.prepare('PRAGMA user_version').get()?.user_version);
}

/**
 * Migrates a database to the newest schema in one transaction. Of several processes that try at once, one does it and
 * the others wait until it is done.
 * @returns how many migrations it ran
 * @throws SchemaTooNewError before any change
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
		const missing = version === 0 ? [newestSchemaFile('sqlite', kind)] : files.slice(version);
		for (const path of missing) database.exec(readFileSync(path, 'utf8'));
		database.exec(`PRAGMA user_version = ${files.length}`);
		database.exec('COMMIT');
		return files.length - version;
	} catch (error) {
		if (database.isTransaction) database.exec('ROLLBACK');
		throw error;
	}
}
