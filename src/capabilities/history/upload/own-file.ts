import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { OperatorError } from '../../../core/errors.ts';

/** Longer than a header of ours. */
const maxHeaderBytes = 64 * 1024;

/**
 * Opens a file that an earlier upload wrote. Nothing else is ever opened, followed or replaced.
 * @param flags besides those that keep links and pipes from being opened
 * @param isOurs decides by the first line
 * @returns null if there is nothing
 * @throws OperatorError if there is something else
 */
export function openOwnFile(path: string, flags: number, isOurs: (header: string) => boolean): number | null {
	const { O_NOFOLLOW, O_NONBLOCK } = constants;
	let handle: number;
	try {
		handle = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === 'ENOENT') return null;
		if (code === 'ELOOP') throw notOurs(path, 'a symbolic link');
		if (code === 'EISDIR') throw notOurs(path, 'a folder');
		if (code === 'ENXIO') throw notOurs(path, 'a pipe or a device');
		throw error;
	}
	try {
		const stats = fstatSync(handle);
		if (stats.isDirectory()) throw notOurs(path, 'a folder');
		if (!stats.isFile()) throw notOurs(path, 'a pipe or a device');
		const bytes = Buffer.alloc(Math.min(stats.size, maxHeaderBytes));
		const read = readSync(handle, bytes, 0, bytes.length, 0);
		const header = bytes.toString('utf8', 0, read).split(/\r?\n/, 1)[0] as string;
		if (!isOurs(header)) throw notOurs(path, "a file that 'caskade upload' did not write");
		return handle;
	} catch (error) {
		closeSync(handle);
		throw error;
	}
}

/** @throws OperatorError if a file that an earlier upload did not write would be replaced */
export function assertReplaceable(path: string, isOurs: (header: string) => boolean): void {
	const handle = openOwnFile(path, constants.O_RDONLY, isOurs);
	if (handle !== null) closeSync(handle);
}

function notOurs(path: string, what: string): OperatorError {
	return new OperatorError(`${path} is ${what}. It stays as it is: move it away, and upload again.`);
}
