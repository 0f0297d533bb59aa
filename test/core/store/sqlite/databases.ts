import { existsSync, mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { DataFolder } from '../../../../src/core/store/sqlite/engine/data-folder.ts';
import { openDatabase } from '../../../../src/core/store/sqlite/engine/sqlite-connection.ts';
import { migrate } from '../../../../src/core/store/sqlite/engine/sqlite-migrate.ts';
import { temporaryFolder } from '../../../support.ts';

/** Opens a database file for one test. */
export function openFor(t: TestContext, path: string): DatabaseSync {
	const database = openDatabase(path, { busyTimeoutMs: 0, create: true });
	t.after(() => {
		if (database.isOpen) database.close();
	});
	return database;
}

/** A new account's database and its path. */
export function accountDatabase(t: TestContext): { database: DatabaseSync; path: string } {
	const path = join(temporaryFolder(t), 'account.sqlite');
	const database = openFor(t, path);
	migrate(database, 'client');
	return { database, path };
}

/** A data folder with a control database and accounts' databases, numbered from 1. */
export function dataFolder(t: TestContext, accounts: number): DataFolder {
	const folder = new DataFolder(temporaryFolder(t));
	mkdirSync(folder.accountsPath);
	const make = (path: string, kind: 'control' | 'client') => {
		const database = openDatabase(path, { busyTimeoutMs: 0, create: true });
		migrate(database, kind);
		database.close();
	};
	make(folder.controlPath, 'control');
	for (let id = 1; id <= accounts; id++) make(folder.accountPath(id), 'client');
	return folder;
}

/** The rows of a query, without the null prototype of the driver. */
export function rows(database: DatabaseSync, sql: string): Record<string, unknown>[] {
	return database
		.prepare(sql)
		.all()
		.map((row) => ({ ...row }));
}

/** The whole schema. */
export function schemaOf(database: DatabaseSync): Record<string, unknown>[] {
	return rows(database, 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name');
}

export const linuxOnly = {
	skip: existsSync('/proc/self/fd') ? false : 'open files are listed in /proc/self/fd',
};

/** The paths of the files that this process has open. */
export function openFiles(): string[] {
	return readdirSync('/proc/self/fd').flatMap((descriptor) => {
		try {
			return [readlinkSync(join('/proc/self/fd', descriptor))];
		} catch {
			return [];
		}
	});
}

/** Calls `fn` from a trigger when the event with this tid is stored. */
export function whenStored(database: DatabaseSync, tid: string, fn: () => void): void {
	database.function('when_stored', () => {
		fn();
		return null;
	});
	database.exec(
		`CREATE TEMP TRIGGER when_stored AFTER INSERT ON main.subscription_event WHEN new.tid = '${tid}'
		BEGIN SELECT when_stored(); END`,
	);
}
