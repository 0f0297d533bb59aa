import { readFileSync, statSync } from 'node:fs';
import type { LogsState } from '../../serving.ts';
import type { LogLength } from '../engine/checkpointer.ts';

/** From so many bytes on, a log that a reader holds is worth a warning. It is told again after a while. */
const warnAtBytes = 64 * 2 ** 20;
const warnAfterMs = 10_000;
const warnEveryMs = 60_000;

/** Follows the write-ahead logs of all writer threads, and warns of readers that make them grow. */
export class WatchedLogs {
	readonly #ofThreads = new Map<number, readonly LogLength[]>();
	readonly #warnedAtMs = new Map<number, number>();
	readonly #pathOf: (databaseId: number) => string;
	readonly #onHeld: (databaseId: number, notice: string) => void;

	constructor(pathOf: (databaseId: number) => string, onHeld: (databaseId: number, notice: string) => void) {
		this.#pathOf = pathOf;
		this.#onHeld = onHeld;
	}

	/** What a thread has found of all of its logs. */
	take(thread: number, logs: readonly LogLength[], nowMs: number): void {
		this.#ofThreads.set(thread, logs);
		for (const { databaseId, bytes, heldMs } of logs) {
			if (bytes < warnAtBytes || heldMs < warnAfterMs) continue;
			if (nowMs - (this.#warnedAtMs.get(databaseId) ?? Number.NEGATIVE_INFINITY) < warnEveryMs) continue;
			this.#warnedAtMs.set(databaseId, nowMs);
			const holders = holdersOf(this.#pathOf(databaseId));
			const by = holders.length > 0 ? ` (process ${holders.join(', ')})` : '';
			this.#onHeld(
				databaseId,
				`a reader${by} has kept the write-ahead log from being copied for ${Math.round(heldMs / 1000)} s; the log has ${Math.round(bytes / 2 ** 20)} MiB and grows until the reader ends`,
			);
		}
	}

	get state(): LogsState {
		const logs = [...this.#ofThreads.values()].flat();
		return {
			longestBytes: Math.max(0, ...logs.map(({ bytes }) => bytes)),
			heldSeconds: Math.max(0, ...logs.map(({ heldMs }) => heldMs)) / 1000,
		};
	}
}

/** The bytes of a `-shm` file that readers of the log lock: https://www.sqlite.org/walformat.html#wal_locks */
const [firstReadLock, lastReadLock] = [123, 127];

/** The processes that read a database, as far as the system tells: Linux does. */
function holdersOf(path: string): number[] {
	try {
		const { ino } = statSync(`${path}-shm`);
		const held = readFileSync('/proc/locks', 'utf8').matchAll(/ READ +(\d+) \S+:(\d+) (\d+) (\d+)$/gm);
		const pids = Array.from(held, ([, pid, inode, first, last]) =>
			Number(inode) === ino && Number(last) >= firstReadLock && Number(first) <= lastReadLock
				? Number(pid)
				: 0,
		);
		return [...new Set(pids.filter((pid) => pid > 0))];
	} catch {
		return [];
	}
}
