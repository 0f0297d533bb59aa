import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { OperatorError } from '../../../errors.ts';
import { newestSchemas, type Schemas } from '../../migrations.ts';
import { fileError } from './file-error.ts';
import { isBusy } from './sqlite-connection.ts';

/** The paths of one data folder. An account's file is named by its number, never by client input. */
export class DataFolder {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
	}

	create(): void {
		if (/[\\/]node_modules[\\/]caskade[\\/]/.test(resolve(this.path)))
			throw new OperatorError(
				`${resolve(this.path)} is deleted when the next version is installed; name a folder outside of the package, for the data by --database or CASKADE_DATABASE.`,
			);
		createFolder(this.accountsPath);
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

	/** The numbers in the files' names, whether or not such accounts exist. */
	accountIds(): number[] {
		return readdirSync(this.accountsPath).flatMap((name) => {
			const [, id] = /^(\d+)\.sqlite$/.exec(name) ?? [];
			return id === undefined ? [] : [Number(id)];
		});
	}

	/** Exists for a moment after the disk was full, to find out whether it still is. */
	get roomPath(): string {
		return join(this.path, 'room.probe');
	}

	get lockPath(): string {
		return join(this.path, 'serve.lock');
	}

	/** Where the server is that holds the lock. A server that was killed leaves it behind. */
	get addressPath(): string {
		return join(this.path, 'serve.url');
	}

	/** What the server that holds the lock tells commands of its own version, see `ServerNotes`. */
	get notesPath(): string {
		return join(this.path, 'serve.json');
	}

	/** Where a backup is before it takes the place of the databases. Afterwards there only if the restore was killed. */
	get restoringPath(): string {
		return join(this.path, 'restoring');
	}

	/** What was erased, see `ErasureList`. */
	get erasuresPath(): string {
		return join(this.path, 'erasures.jsonl');
	}

	/** When the last backup began. */
	get lastBackupPath(): string {
		return join(this.path, 'last-backup');
	}
}

/** Creates a folder and its parents. Node's own recursion never ends where no folder can be created, as in `/proc`. */
function createFolder(path: string): void {
	const parent = dirname(path);
	if (!existsSync(parent)) createFolder(parent);
	try {
		mkdirSync(path, { mode: 0o700 });
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		// Another process may create the same folder at the same time.
		if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
		if (code !== 'ENOENT') throw error;
		throw new OperatorError(`No folder can be created in ${parent}; name another place.`, { cause: error });
	}
}

/** What a server tells of itself. One that was killed leaves it behind; versions before it tell nothing. */
export interface ServerNotes {
	readonly schemas: Schemas;
	/** Where people reach the console, without a path. */
	readonly consoleUrl?: string | undefined;
}

/** Held by the only server of a data folder. */
export interface FolderLock {
	/** Tells commands where the server and its console are. */
	announce(url: string, consoleUrl?: string): void;
	/** Tells commands that whoever holds the lock is of this version. */
	note(): void;
	release(): void;
}

/** A check whether the folder is served holds the lock for a moment. It must not prevent a server from starting. */
const patienceMs = 100;

/**
 * Locks the data folder for this process. @returns undefined if another process has locked it
 * The operating system holds the lock, on a file that SQLite keeps locked, so it ends with the process in any case.
 */
export function lockFolder(folder: DataFolder, waitMs = patienceMs): FolderLock | undefined {
	let database: DatabaseSync | undefined;
	try {
		database = new DatabaseSync(folder.lockPath, { timeout: waitMs });
		database.exec('BEGIN EXCLUSIVE');
	} catch (error) {
		database?.close();
		if (isBusy(error)) return undefined;
		throw fileError(folder.lockPath, error, 'delete it, it holds no data');
	}
	const held = database;
	const forget = () => {
		rmSync(folder.addressPath, { force: true });
		rmSync(folder.notesPath, { force: true });
	};
	const schemas = newestSchemas('sqlite');
	forget();
	return {
		note() {
			tell(folder.notesPath, JSON.stringify({ schemas }));
		},
		announce(url, consoleUrl) {
			tell(folder.addressPath, url);
			tell(folder.notesPath, JSON.stringify({ schemas, consoleUrl }));
		},
		release() {
			forget();
			held.close();
		},
	};
}

/** Locks it, and notes it for who finds it locked. @throws OperatorError with this sentence if another process has the folder */
export function takeFolder(folder: DataFolder, sentence: (folder: string) => string): FolderLock {
	const lock = lockFolder(folder);
	if (!lock) throw new OperatorError(sentence(`the data folder ${folder.path}${atAddress(folder)}`));
	lock.note();
	return lock;
}

/** On a full disk commands do without. */
function tell(path: string, line: string): void {
	try {
		writeLine(path, line);
	} catch {}
}

/** Writes a file of one line, which `readLine` reads. */
export function writeLine(path: string, line: string): void {
	writeFileSync(path, `${line}\n`, { mode: 0o600 });
}

/** @returns undefined if the file cannot be read: in most cases because it does not exist */
export function readLine(path: string): string | undefined {
	try {
		return readFileSync(path, 'utf8').trim();
	} catch {
		return undefined;
	}
}

/** For messages, for example `, at http://127.0.0.1:8080`; empty if the server has not told its address. */
export function atAddress(folder: DataFolder): string {
	const url = readLine(folder.addressPath);
	return url === undefined ? '' : `, at ${url}`;
}

/** Whether a server uses the data folder, or a command that keeps servers away. */
export function isServed(folder: DataFolder): boolean {
	// Where a server has told its address, who holds the lock is not another check: the console asks with each page.
	const lock = lockFolder(folder, readLine(folder.addressPath) === undefined ? patienceMs : 0);
	lock?.release();
	return lock === undefined;
}

/** @returns undefined if it tells nothing, which older versions do */
export function readNotes(folder: DataFolder): ServerNotes | undefined {
	const line = readLine(folder.notesPath);
	return line === undefined ? undefined : (JSON.parse(line) as ServerNotes);
}

/**
 * Checks before a migration that no server of an older version uses the folder: it would refuse what is newer than itself, and
 * fail with every request.
 * @throws OperatorError that says what to do
 */
export function requireNoOlderServer(folder: DataFolder, known: Schemas): void {
	if (!isServed(folder)) return;
	const schemas = readNotes(folder)?.schemas;
	if (schemas && schemas.control >= known.control && schemas.accounts >= known.accounts) return;
	throw new OperatorError(
		`A server of an older version runs on the data folder ${folder.path}${atAddress(folder)}, and fails once its databases are migrated: stop it first, then run 'caskade migrate' or start the new server. Until then, use its own version for commands.`,
	);
}
