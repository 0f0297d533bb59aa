import { closeSync, openSync, readFileSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import { OperatorError } from '../errors.ts';

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
		for (let number = 0; number < count; number++) opened.push(openSync(process.execPath, 'r'));
		return true;
	} catch {
		return false;
	} finally {
		for (const handle of opened) closeSync(handle);
	}
}

/** What this thread can close now. Each closes one database, and returns false if it has none. */
const spares = new Set<() => boolean>();

/** Between the threads of this process: one has no file handles. */
const shortage = new BroadcastChannel('no file handles are left');
shortage.onmessage = () => {
	if (!hasFileHandles(handlesOfDatabase)) spareOne();
};
shortage.unref();

function spareOne(): boolean {
	return [...spares].some((spare) => spare());
}

/**
 * Lets databases of this thread be closed where somebody in this process has no file handles.
 * @param spare closes one that is not used at this moment; returns false if there is none
 * @returns ends it
 */
export function lendHandles(spare: () => boolean): () => void {
	spares.add(spare);
	return () => void spares.delete(spare);
}

/** Other threads have been asked to close something, so another attempt may succeed. */
export class NoFileHandlesError extends Error {
	constructor(options: ErrorOptions) {
		super('no file handles are left', options);
		this.name = 'NoFileHandlesError';
	}
}

/**
 * Opens a database. While there are no free file handles, closes others of this thread.
 * @throws NoFileHandlesError where there are none to close
 */
export function openClosing<Opened>(open: () => Opened): Opened {
	for (;;) {
		try {
			return open();
		} catch (error) {
			// Another thread may have closed something since.
			const isShort =
				(error as NodeJS.ErrnoException).code === 'EMFILE' || !hasFileHandles(handlesOfDatabase);
			if (!isShort) throw error;
			if (spareOne()) continue;
			shortage.postMessage(null);
			throw new NoFileHandlesError({ cause: error });
		}
	}
}

/** The files that an idle server has open, about 65, and some connections and accounts. */
const leastFileHandles = 96;

/** @throws OperatorError where a server could not open enough */
export function requireFileHandles(): void {
	const handles = maxFileHandles();
	if (handles < leastFileHandles)
		throw new OperatorError(
			`Only ${handles} files may be open at a time here, and a server needs at least ${leastFileHandles}. Allow more, for example with: ulimit -n 1024`,
		);
}
