import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

export type DatabaseKind = 'control' | 'client';

const migrationsFolder = join(import.meta.dirname, '../../../migrations');

/** The database was written by a newer Caskade. */
export class SchemaTooNewError extends Error {
	constructor(kind: DatabaseKind, version: number, known: number) {
		super(
			`The ${kind} database has schema ${version}, this Caskade knows schema ${known}: it was last used by a newer Caskade. Start that one, or restore a backup made before the upgrade.`,
		);
		this.name = 'SchemaTooNewError';
	}
}

/** The numbered files of `migrations/<kind>/`, in order; the n-th leads to schema version n. */
function migrationFiles(kind: DatabaseKind): string[] {
	const files = readdirSync(join(migrationsFolder, kind))
		.filter((name) => /^\d{3}-.*\.sql$/.test(name))
		.sort();
	files.forEach((name, index) => {
		if (Number(name.slice(0, 3)) !== index + 1)
			throw new Error(`migrations/${kind}/${name} is out of sequence`);
	});
	return files;
}

export function latestSchema(kind: DatabaseKind): number {
	return migrationFiles(kind).length;
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
	const files = migrationFiles(kind);
	const check = () => {
		const version = schemaVersion(database);
		if (version > files.length) throw new SchemaTooNewError(kind, version, files.length);
		return version;
	};
	if (check() === files.length) return 0;
	database.exec('BEGIN IMMEDIATE');
	try {
		const version = check();
		for (const name of files.slice(version))
			database.exec(readFileSync(join(migrationsFolder, kind, name), 'utf8'));
		database.exec(`PRAGMA user_version = ${files.length}`);
		database.exec('COMMIT');
		return files.length - version;
	} catch (error) {
		if (database.isTransaction) database.exec('ROLLBACK');
		throw error;
	}
}
