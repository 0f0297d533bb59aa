import { DatabaseSync } from 'node:sqlite';

/** Ways in which a database file of a data folder is wrong, for which the product has no door. */

/** Makes a file look as a version of the product with another schema has left it. @returns the version before */
export function setSchemaVersion(path: string, version: number): number {
	using database = new DatabaseSync(path, { timeout: 5000 });
	const before = Number(database.prepare('PRAGMA user_version').get()?.user_version);
	database.exec(`PRAGMA user_version = ${version}`);
	return before;
}

/** Statements about these tables fail, with a text of the engine. */
export function loseTables(path: string, ...tables: readonly string[]): void {
	using database = new DatabaseSync(path, { timeout: 5000 });
	for (const table of tables) database.exec(`ALTER TABLE ${table} RENAME TO lost_${table}`);
}
