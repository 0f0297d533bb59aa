import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './connection.ts';
import { fileError } from './file-error.ts';

/** Where the files of one data folder are. An account's file is named by its number, never by what a client sent. */
export class DataFolder {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
	}

	create(): void {
		mkdirSync(this.accountsPath, { recursive: true, mode: 0o700 });
	}

	get controlPath(): string {
		return join(this.path, 'control.sqlite');
	}

	get accountsPath(): string {
		return join(this.path, 'accounts');
	}

	accountPath(accountId: number): string {
		if (!Number.isSafeInteger(accountId) || accountId < 1) throw new Error('an account id is a whole number');
		return join(this.accountsPath, `${accountId}.sqlite`);
	}

	/** The numbers of which there are files, whether or not an account has them. */
	accountIds(): number[] {
		return readdirSync(this.accountsPath).flatMap((name) => {
			const [, id] = /^(\d+)\.sqlite$/.exec(name) ?? [];
			return id === undefined ? [] : [Number(id)];
		});
	}

	/** There for a moment, after the disk was full, to find out whether it still is. */
	get roomPath(): string {
		return join(this.path, 'room.probe');
	}

	get lockPath(): string {
		return join(this.path, 'serve.lock');
	}
}

/** Held by the one server of a data folder. */
export interface FolderLock {
	release(): void;
}

/** Whoever only looks whether the folder is served has the lock for a moment, which must keep no server from starting. */
const patienceMs = 100;

/**
 * Takes the data folder for this process, or gives `undefined` where another holds it. The lock is the operating
 * system's on a file that SQLite keeps locked, so it ends with the process, however that ends.
 */
export function lockFolder(folder: DataFolder): FolderLock | undefined {
	let database: DatabaseSync | undefined;
	try {
		database = new DatabaseSync(folder.lockPath, { timeout: patienceMs });
		database.exec('BEGIN EXCLUSIVE');
	} catch (error) {
		database?.close();
		if (isBusy(error)) return undefined;
		throw fileError(folder.lockPath, error, 'delete it, it holds no data');
	}
	const held = database;
	return { release: () => held.close() };
}

/** Whether a server has the data folder, or whoever keeps servers away. */
export function isServed(folder: DataFolder): boolean {
	const lock = lockFolder(folder);
	lock?.release();
	return lock === undefined;
}
