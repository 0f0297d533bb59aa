import { closeSync, openSync, readFileSync } from 'node:fs';

/** File handles of an account's database while it is written: the database, its write-ahead log and the log's index. */
export const handlesOfDatabase = 3;

/** The limit of open files. Node raises it to the hard limit. A guess on systems other than Linux. */
export function maxFileHandles(): number {
	try {
		const [, soft] =
			/^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
		return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? 1024);
	} catch {
		return 1024;
	}
}

/** Whether this process can open this many more files. */
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

/** Opens something. While there are no free file handles, closes others, oldest first. */
export function openClosing<Opened>(open: () => Opened, closeOldest: () => boolean): Opened {
	for (;;) {
		try {
			return open();
		} catch (error) {
			if (hasFileHandles(handlesOfDatabase) || !closeOldest()) throw error;
		}
	}
}
