import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { TestProcess } from '../../process.ts';
import { sessionOn } from './postgres/service.ts';

/** What programs that are not Caskade do with its databases. */

/** A process that has a database open. */
export interface Holder extends AsyncDisposable {
	/** Ends it. May be called more than once. */
	release(): Promise<void>;
}

async function hold(path: string, sql: string): Promise<Holder> {
	const script = `
		const { DatabaseSync } = require('node:sqlite');
		const database = new DatabaseSync(process.argv[1], { timeout: 5000 });
		database.exec(process.argv[2]);
		process.stdout.write('holds it');
		process.stdin.resume();
	`;
	const holder = new TestProcess(process.execPath, ['-e', script, path, sql]);
	await holder.printed(/holds it/);
	const release = async () => {
		await holder.kill();
	};
	return { release, [Symbol.asyncDispose]: release };
}

/** Starts a process that takes a database's write lock and keeps it, like one that hangs. */
export function lockDatabase(path: string): Promise<Holder> {
	return hold(path, 'BEGIN IMMEDIATE');
}

/** Starts a process that has read an account's database and keeps it open. */
export function keepOpen(path: string): Promise<Holder> {
	return hold(path, 'SELECT count(*) FROM subscription_event');
}

/** Starts a process that reads an account's database as it is now, and goes on reading. */
export function keepReading(path: string): Promise<Holder> {
	return hold(path, 'BEGIN; SELECT count(*) FROM subscription_event');
}

/** Whether somebody has the write lock of a database. */
export function isLocked(path: string): boolean {
	using database = new DatabaseSync(path);
	try {
		database.exec('BEGIN IMMEDIATE; ROLLBACK');
		return false;
	} catch {
		return true;
	}
}

/** Copies the write-ahead log into the database, and makes it empty, or lets it begin anew in a file of the same length. */
export function checkpoint(path: string, log: 'TRUNCATE' | 'RESTART' = 'TRUNCATE'): void {
	using database = new DatabaseSync(path, { timeout: 5000 });
	database.exec(`PRAGMA wal_checkpoint(${log})`);
}

/** Counts the events of an account that may not be there yet, with as little ado as can be. */
export async function eventCounter(
	t: TestContext,
	address: string,
): Promise<(accountId: number) => Promise<number>> {
	if (address.startsWith('sqlite:'))
		return async (accountId) => {
			const path = join(address.replace('sqlite:', ''), 'accounts', `${accountId}.sqlite`);
			try {
				using database = new DatabaseSync(path, { readOnly: true });
				return Number(database.prepare('SELECT count(*) AS count FROM subscription_event').get()?.count);
			} catch {
				return 0;
			}
		};
	const session = await sessionOn(t, address);
	return (accountId) =>
		session.query(`SELECT count(*) FROM caskade_account_${accountId}.subscription_event`).then(
			({ rows }) => Number(rows[0].count),
			() => 0,
		);
}

/** The schemas of all stages on a database server, in order. */
export async function schemasAt(t: TestContext, address: string): Promise<string[]> {
	const { rows } = await (await sessionOn(t, address)).query(
		`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'caskade%' ORDER BY nspname COLLATE "C"`,
	);
	return rows.map(({ nspname }) => nspname);
}

/** How many events of an account the planner of a database server believes to be there. */
export async function plannedEvents(t: TestContext, address: string, accountId: number): Promise<number> {
	const { rows } = await (await sessionOn(t, address)).query(
		`SELECT reltuples FROM pg_class WHERE oid = 'caskade_account_${accountId}.subscription_event'::regclass`,
	);
	return rows[0].reltuples;
}
