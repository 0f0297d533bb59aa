import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../errors.ts';

export type DatabaseKind = 'control' | 'client';
type Engine = 'sqlite' | 'postgres';

/** Schema versions: of the control database, and of the accounts' databases. */
export interface Schemas {
	readonly control: number;
	readonly accounts: number;
}

const migrationsFolder = join(import.meta.dirname, '../../../migrations');

/** The database was migrated by a newer Caskade. */
export class SchemaTooNewError extends Error {
	constructor(kind: DatabaseKind, version: number, known: number) {
		super(
			`The ${kind} database has schema ${version}, this Caskade knows schema ${known}: it was last used by a newer Caskade. Start that one, or restore a backup made before the upgrade.`,
		);
		this.name = 'SchemaTooNewError';
	}
}

/** The database is of an older version, and this process is not to migrate it. */
export class SchemaTooOldError extends OperatorError {
	/** @param database its name, for people */
	constructor(database: string, version: number, known: number) {
		super(
			`${database} has schema ${version}, and this Caskade needs schema ${known}: back up, then run 'caskade migrate' or start the new server. See "Upgrade" in docs/how-to/operating.md. Until then, use the version that you had.`,
		);
	}
}

/** The newest schemas of an engine's databases. */
export function newestSchemas(engine: Engine): Schemas {
	return {
		control: migrationFiles(engine, 'control').length,
		accounts: migrationFiles(engine, 'client').length,
	};
}

/** Cached: databases must open even when no file handle is left for reading a folder. */
const known = new Map<string, readonly string[]>();

/** Paths of the numbered files in `migrations/<engine>/<kind>/`, in order. The n-th migrates to schema version n. */
export function migrationFiles(engine: Engine, kind: DatabaseKind): readonly string[] {
	return known.getOrInsertComputed(`${engine}/${kind}`, () => listFiles(engine, kind));
}

/** The file that makes the newest schema at once, as all migrations do one after another. */
export function newestSchemaFile(engine: Engine, kind: DatabaseKind): string {
	return join(migrationsFolder, engine, `${kind}.sql`);
}

function listFiles(engine: Engine, kind: DatabaseKind): string[] {
	const folder = join(migrationsFolder, engine, kind);
	const files = readdirSync(folder)
		.filter((name) => /^\d{3}-.*\.sql$/.test(name))
		.sort();
	files.forEach((name, index) => {
		if (Number(name.slice(0, 3)) !== index + 1)
			throw new Error(`migrations/${engine}/${kind}/${name} is out of sequence`);
	});
	return files.map((name) => join(folder, name));
}
