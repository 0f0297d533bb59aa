import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes a file, or the names in a folder, durable. */
export function sync(path: string): void {
	const descriptor = openSync(path, 'r');
	try {
		fsyncSync(descriptor);
	} finally {
		closeSync(descriptor);
	}
}
