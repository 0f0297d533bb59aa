import { closeSync, openSync } from 'node:fs';

/** What an account's database needs while it is written to: itself, its write-ahead log, and the index of that. */
export const handlesOfDatabase = 3;

/** Whether this process can open so many files more. */
export function hasFileHandles(count: number): boolean {
	const opened: number[] = [];
	try {
		for (let number = 0; number < count; number++) opened.push(openSync(import.meta.filename, 'r'));
		return true;
	} catch {
		return false;
	} finally {
		for (const handle of opened) closeSync(handle);
	}
}

/** Opens something; where there are no file handles left, closes others, one after the other, until it can. */
export function openClosing<Opened>(open: () => Opened, closeOldest: () => boolean): Opened {
	for (;;) {
		try {
			return open();
		} catch (error) {
			if (hasFileHandles(handlesOfDatabase) || !closeOldest()) throw error;
		}
	}
}
