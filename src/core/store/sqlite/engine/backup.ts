import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError, StorageError } from '../../../errors.ts';
import { sync } from '../../sync.ts';
import { DataFolder } from './data-folder.ts';
import { openDatabase, resultCode } from './sqlite-connection.ts';

type Copied = (step: { database: string; path: string }) => void;

/**
 * Copies the control database and then every account's into `target`, which becomes a data folder of its own. Each copy
 * is one consistent moment of its database; servers keep running. `target` appears only when it is complete.
 * @throws OperatorError where `target` exists and is not empty
 */
export function copyDatabases(folder: DataFolder, target: string, copied: Copied): void {
	if (existsSync(target) && readdirSync(target).length > 0)
		throw new OperatorError(`${target} is not empty; name a new folder for the backup.`);
	const partial = new DataFolder(`${target.replace(/\/+$/, '')}.partial`);
	rmSync(partial.path, { recursive: true, force: true });
	try {
		copyInto(partial, folder, copied);
	} catch (error) {
		rmSync(partial.path, { recursive: true, force: true });
		if (resultCode(error) === diskFull)
			throw new OperatorError(`There is no room left for the backup in ${dirname(target)}.`, {
				cause: error,
			});
		throw error;
	}
	if (existsSync(target)) rmSync(target, { recursive: true });
	renameSync(partial.path, target);
	sync(dirname(target));
}

/** SQLITE_FULL */
const diskFull = 13;

function copyInto(partial: DataFolder, folder: DataFolder, copied: Copied): void {
	partial.create();
	const copy = (database: string, from: string, to: string) => {
		if (!existsSync(from)) throw new StorageError(`the file of account ${database} is missing`);
		copyDatabase(from, to);
		copied({ database, path: to });
	};
	copy('control', folder.controlPath, partial.controlPath);
	// Listed from the copy, not the original, so that an account added meanwhile is in both databases or in neither.
	for (const { id, aid } of accountsIn(partial.controlPath))
		copy(aid, folder.accountPath(id), partial.accountPath(id));
	// Last, so that it has all that was erased of the copies.
	if (existsSync(folder.erasuresPath)) {
		copyFileSync(folder.erasuresPath, partial.erasuresPath);
		sync(partial.erasuresPath);
	}
	sync(partial.accountsPath);
	sync(partial.path);
}

function accountsIn(controlPath: string): { id: number; aid: string }[] {
	const database = openDatabase(controlPath, { busyTimeoutMs: 0, readOnly: true });
	try {
		const rows = database.prepare('SELECT id, aid FROM account ORDER BY id /* accounts to back up */').all();
		return rows.map(({ id, aid }) => ({ id: Number(id), aid: String(aid) }));
	} finally {
		database.close();
	}
}

/** VACUUM INTO reads one snapshot. The online backup would start again at every write of another process. */
function copyDatabase(from: string, to: string): void {
	const database = openDatabase(from, { busyTimeoutMs: 5000 });
	try {
		database.prepare('VACUUM INTO ?').run(to);
	} finally {
		database.close();
	}
	sync(to);
}
