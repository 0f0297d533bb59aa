import {
	appendFileSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	realpathSync,
	renameSync,
	rmdirSync,
	rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import type { DatabaseKind } from '../../../core/store/migrations.ts';
import { SchemaTooNewError } from '../../../core/store/migrations.ts';
import {
	atAddress,
	DataFolder,
	isServed,
	lockFolder,
} from '../../../core/store/sqlite/engine/data-folder.ts';
import { fileError } from '../../../core/store/sqlite/engine/file-error.ts';
import { openDatabase } from '../../../core/store/sqlite/engine/sqlite-connection.ts';
import { latestSchema, schemaVersion } from '../../../core/store/sqlite/engine/sqlite-migrate.ts';
import { sync } from '../../../core/store/sync.ts';

/** What a restore has done. */
export interface RestoreReport {
	/** Files of accounts' databases. */
	readonly accounts: number;
	/** Where the databases are that were there before; null if there were none. */
	readonly replaced: string | null;
}

/**
 * Puts a backup in the place of a folder's databases, which are moved into a folder beside it. The list of erasures stays, and
 * gains what only the backup's has. The backup stays as it is. A restore that was killed is completed by repeating it: until
 * then the folder has no control database, and nothing can use it.
 * @throws OperatorError where a server runs, or the backup is none, is damaged or of a newer version: nothing is changed then
 */
export function restoreDatabases(path: string, backupPath: string, nowMs: number): RestoreReport {
	const [folder, backup] = [new DataFolder(path), new DataFolder(backupPath)];
	if (!existsSync(backup.controlPath) || !existsSync(backup.accountsPath))
		throw new OperatorError(`${backupPath} is no backup: it has no control.sqlite and accounts.`);
	folder.create();
	if (realpathSync(path) === realpathSync(backupPath))
		throw new OperatorError('The backup is the data folder itself; name another folder.');
	if (isServed(backup)) throw new OperatorError(`A server runs on ${backupPath}; stop it first.`);
	const lock = lockFolder(folder);
	if (!lock)
		throw new OperatorError(`A server runs on the data folder ${path}${atAddress(folder)}; stop it first.`);
	try {
		const copy = copyOf(backup, new DataFolder(folder.restoringPath));
		const replaced = moveAway(folder, join(path, `replaced-${isoTime(nowMs).replaceAll(/[:.]/g, '-')}`));
		mergeLists(folder, backup);
		const accounts = copy.accountIds().length;
		if (existsSync(folder.accountsPath)) rmdirSync(folder.accountsPath);
		renameSync(copy.accountsPath, folder.accountsPath);
		// The database itself is the last, see above.
		for (const name of controlFiles(copy.path).reverse()) renameSync(join(copy.path, name), join(path, name));
		rmdirSync(copy.path);
		sync(path);
		return { accounts, replaced };
	} finally {
		lock.release();
	}
}

/** Copies and checks the backup's databases. */
function copyOf(backup: DataFolder, copy: DataFolder): DataFolder {
	rmSync(copy.path, { recursive: true, force: true });
	copy.create();
	const files = [
		...controlFiles(backup.path),
		...readdirSync(backup.accountsPath)
			.filter((name) => /^\d+\.sqlite(-wal)?$/.test(name))
			.map((name) => join('accounts', name)),
	];
	for (const name of files) {
		copyFileSync(join(backup.path, name), join(copy.path, name));
		sync(join(copy.path, name));
	}
	try {
		checkCopy(backup.controlPath, copy.controlPath, 'control');
		for (const id of copy.accountIds()) checkCopy(backup.accountPath(id), copy.accountPath(id), 'client');
	} catch (error) {
		rmSync(copy.path, { recursive: true });
		throw error;
	}
	sync(copy.accountsPath);
	sync(copy.path);
	return copy;
}

/** The control database and its write-ahead log, in the order of their names. */
function controlFiles(path: string): string[] {
	return readdirSync(path)
		.filter((name) => /^control\.sqlite(-wal)?$/.test(name))
		.sort();
}

function checkCopy(path: string, copyPath: string, kind: DatabaseKind): void {
	const remedy = 'restore another backup';
	try {
		using database = openDatabase(copyPath, { busyTimeoutMs: 0 });
		const [version, known] = [schemaVersion(database), latestSchema(kind)];
		if (version > known) throw new SchemaTooNewError(kind, version, known);
		if (version === 0 || database.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok')
			throw new OperatorError(`${path} is damaged; ${remedy}.`);
	} catch (error) {
		throw fileError(path, error, remedy);
	}
}

/** @returns where the databases are now; null if there were none */
function moveAway(folder: DataFolder, target: string): string | null {
	const names = readdirSync(folder.path).filter((name) => /^control\.sqlite(-.*)?$/.test(name));
	if (names.length === 0 && readdirSync(folder.accountsPath).length === 0) return null;
	mkdirSync(target, { mode: 0o700 });
	// From now on the folder has no control database.
	for (const name of names.sort()) renameSync(join(folder.path, name), join(target, name));
	renameSync(folder.accountsPath, join(target, 'accounts'));
	sync(target);
	sync(folder.path);
	return target;
}

/** What is only in the backup's list was erased before the list of the folder was lost. */
function mergeLists(folder: DataFolder, backup: DataFolder): void {
	const linesOf = ({ erasuresPath }: DataFolder) =>
		existsSync(erasuresPath) ? readFileSync(erasuresPath, 'utf8').split('\n') : [];
	const known = new Set(linesOf(folder));
	const more = linesOf(backup).filter((line) => line !== '' && !known.has(line));
	if (more.length === 0) return;
	// A line that was cut off is ended.
	appendFileSync(folder.erasuresPath, `\n${more.join('\n')}\n`, { mode: 0o600 });
	sync(folder.erasuresPath);
}
