import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError, reasonOf } from '../../../errors.ts';
import { resultCode } from './sqlite-connection.ts';

/** SQLite's result codes for a damaged file, or one that never was a database. */
const damageCodes: readonly unknown[] = [11, 26];
/** Codes that it also gives when the disk is full: I/O error, full, cannot open. */
const roomCodes: readonly unknown[] = [10, 13, 14];
/** More than opening a database needs for its write-ahead log and the log's index. */
const minFreeBytes = 64 * 1024;

/** Explains why a database file cannot be used. Errors of other origin stay as they are. */
export function fileError(
	path: string,
	error: unknown,
	remedy = 'restore a backup of the data folder',
): unknown {
	const code = resultCode(error);
	if (code === undefined) return error;
	const sentence = damageCodes.includes(code)
		? `${path} is damaged; ${remedy}.`
		: roomCodes.includes(code) && freeBytes(dirname(path)) < minFreeBytes
			? `The disk that has ${path} is full.`
			: `${path} cannot be used (${reasonOf(error)}); it must be a file that this process may read and write.`;
	return new OperatorError(sentence, { cause: error });
}

function freeBytes(folder: string): number {
	const { bavail, bsize } = statfsSync(folder);
	return bavail * bsize;
}
