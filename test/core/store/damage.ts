import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { migrationFiles } from '../../../src/core/store/migrations.ts';
import { sessionOn } from './postgres/service.ts';
import { freshPostgresDatabase } from './postgres-server.ts';

/** Ways in which stored data is wrong or missing, for which the product has no door. */

function change(path: string, sql: string): void {
	using database = new DatabaseSync(path, { timeout: 5000 });
	database.exec(sql);
}

/** Makes a file look as a version of the product with another schema has left it. @returns the version before */
export function setSchemaVersion(path: string, version: number): number {
	using database = new DatabaseSync(path, { timeout: 5000 });
	const before = Number(database.prepare('PRAGMA user_version').get()?.user_version);
	database.exec(`PRAGMA user_version = ${version}`);
	return before;
}

/** Makes an account's file as the first release has left it. */
export function makeEarliest(path: string): void {
	rmSync(path);
	change(path, readFileSync(migrationFiles('sqlite', 'client')[0] as string, 'utf8'));
	setSchemaVersion(path, 1);
}

/** Makes a file a database without a table. */
export function makeEmpty(path: string): void {
	rmSync(path);
	change(path, 'PRAGMA journal_mode = WAL');
}

/** Statements about these tables fail, with a text of the engine. */
export function loseTables(path: string, ...tables: readonly string[]): void {
	for (const table of tables) change(path, `ALTER TABLE ${table} RENAME TO lost_${table}`);
}

/** Makes the first page of a table unreadable, where all else is sound. */
export function damageTable(path: string, table: string): void {
	const database = new DatabaseSync(path);
	const row = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table);
	database.close();
	const file = openSync(path, 'r+');
	writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (Number(row?.rootpage) - 1) * 4096);
	closeSync(file);
}

/** Makes a control database forget with what casks are signed. */
export function loseSigningKeys(path: string): void {
	change(path, 'DELETE FROM signing_key; UPDATE revision SET number = number + 1');
}

/** Makes storing the tid `poison` fail in the middle of a request, like a damaged page. */
export function poison(path: string, how: 'ABORT' | 'FAIL' | 'ROLLBACK'): { cure: () => void } {
	change(
		path,
		`CREATE TRIGGER poison BEFORE INSERT ON subscription_event WHEN NEW.tid = 'poison' BEGIN SELECT RAISE(${how}, 'secret of the store'); END`,
	);
	return { cure: () => change(path, 'DROP TRIGGER poison') };
}

/** Makes storing the tid `slow` take about a second of CPU time within a statement. */
export function slowDown(path: string): void {
	change(
		path,
		`CREATE TRIGGER slow BEFORE INSERT ON subscription_event WHEN NEW.tid = 'slow' BEGIN
		SELECT count(*) FROM (
			WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter LIMIT 5000000) SELECT n FROM counter
		);
	END`,
	);
}

const controlOf = (address: string) => join(address.slice('sqlite:'.length), 'control.sqlite');

/** As an older control database would: the account is not there, and its number is the next one to be given. */
export async function forgetAccount(t: TestContext, address: string, id: number): Promise<void> {
	if (address.startsWith('sqlite:'))
		return change(
			controlOf(address),
			`DELETE FROM goal; DELETE FROM segment; DELETE FROM account; UPDATE sqlite_sequence SET seq = ${id - 1} WHERE name = 'account'`,
		);
	const session = await sessionOn(t, address);
	await session.query('TRUNCATE caskade_control.account RESTART IDENTITY CASCADE');
}

/** Makes a database server forget an installation's control data, but not its accounts. */
export async function dropControlSchema(t: TestContext, address: string): Promise<void> {
	await (await sessionOn(t, address)).query('DROP SCHEMA caskade_control CASCADE');
}

/** Takes a store's control database away. @returns what gives it back */
export async function takeControlAway(t: TestContext, address: string): Promise<() => Promise<void>> {
	if (address.startsWith('sqlite:')) {
		const path = controlOf(address);
		renameSync(path, `${path}.away`);
		return async () => renameSync(`${path}.away`, path);
	}
	const name = new URL(address).pathname.slice(1);
	const session = await sessionOn(t, await freshPostgresDatabase());
	await session.query(`ALTER DATABASE ${name} RENAME TO ${name}_away`);
	return async () => {
		await session.query(`ALTER DATABASE ${name}_away RENAME TO ${name}`);
	};
}

/** Holds a folder as servers did before they told their version: the lock, and the address. */
export class OlderServer implements AsyncDisposable {
	readonly #lock: DatabaseSync;

	constructor(folder: string) {
		this.#lock = new DatabaseSync(join(folder, 'serve.lock'));
		this.#lock.exec('BEGIN EXCLUSIVE');
		writeFileSync(join(folder, 'serve.url'), 'http://127.0.0.1:1\n');
	}

	stop(): void {
		if (this.#lock.isOpen) this.#lock.close();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.stop();
	}
}
