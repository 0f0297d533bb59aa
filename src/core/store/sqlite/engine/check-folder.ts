import { existsSync, statfsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { reasonOf, StorageError } from '../../../errors.ts';
import { checkControl } from '../../check-control.ts';
import type { Account, ControlStore } from '../../control/control-store.ts';
import type { Check } from '../../maintenance.ts';
import type { DatabaseKind } from '../../migrations.ts';
import { openAccountFile } from './account-file.ts';
import { atAddress, type DataFolder, isServed } from './data-folder.ts';
import { openDatabase } from './sqlite-connection.ts';
import { latestSchema, schemaVersion } from './sqlite-migrate.ts';

const minFreeBytes = 1024 ** 3;
const longLogBytes = 1024 ** 3;
/** Formats a size, for example `372 KiB` or `76.9 GiB`. */
function readable(bytes: number): string {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
	const amount = bytes / 1024 ** power;
	return `${power < 2 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}

/** Checks everything in a data folder that can be wrong, and changes nothing. */
export async function* checkFolder(
	folder: DataFolder,
	control: ControlStore,
	nowMs: number,
): AsyncIterable<Check> {
	const disk = statfsSync(folder.path);
	const freeBytes = disk.bavail * disk.bsize;
	yield {
		check: 'disk space',
		ok: freeBytes >= minFreeBytes,
		detail: `${readable(freeBytes)} free${freeBytes < minFreeBytes ? ', less than 1 GiB: uploads fail when it is full' : ''}`,
	};
	yield {
		check: 'server',
		ok: true,
		detail: isServed(folder)
			? `a server runs on this data folder${atAddress(folder)}`
			: 'no server runs on this data folder',
	};
	const options = { busyTimeoutMs: 5000, readOnly: true };
	const { controlPath } = folder;
	yield checkDatabase('control database', controlPath, 'control', () => openDatabase(controlPath, options));
	try {
		yield* checkAccounts(folder, await control.accounts(), options);
		yield* checkControl(control, nowMs);
	} catch (error) {
		yield { check: 'accounts and keys', ok: false, detail: `cannot be read (${reasonOf(error)})` };
	}
}

function* checkAccounts(
	folder: DataFolder,
	accounts: readonly Account[],
	options: Parameters<typeof openDatabase>[1],
): Iterable<Check> {
	for (const { id, aid } of accounts)
		yield checkDatabase(`account ${aid}`, folder.accountPath(id), 'client', () =>
			openAccountFile(folder, id, options),
		);
	const known = new Set(accounts.map(({ id }) => id));
	for (const id of folder.accountIds().filter((one) => !known.has(one)))
		yield {
			check: `file ${id}.sqlite`,
			ok: false,
			detail: 'belongs to no account: restore the control.sqlite that knows it, or move the file away',
		};
}

function checkDatabase(check: string, path: string, kind: DatabaseKind, open: () => DatabaseSync): Check {
	const damaged = (how: string) => `damaged (${how}): restore a backup`;
	let database: DatabaseSync | undefined;
	try {
		database = open();
		const version = schemaVersion(database);
		const known = latestSchema(kind);
		const found = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
		const integrity = String(found).replaceAll('\n', ' ');
		const logBytes = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0;
		const problems = [
			integrity !== 'ok' && damaged(integrity),
			version > known && `schema ${version} is newer than this Caskade (${known})`,
			logBytes > longLogBytes &&
				`write-ahead log of ${readable(logBytes)}: some process keeps an old read open`,
		].filter((problem) => problem !== false);
		const pending =
			version < known ? `, schema ${known} is available: run 'caskade migrate' or start the server` : '';
		return {
			check,
			ok: problems.length === 0,
			detail: problems.join('; ') || `sound, schema ${version}${pending}, ${readable(statSync(path).size)}`,
		};
	} catch (error) {
		const reason = reasonOf(error);
		return {
			check,
			ok: false,
			detail: error instanceof StorageError ? `${reason}: restore a backup` : damaged(reason),
		};
	} finally {
		database?.close();
	}
}
