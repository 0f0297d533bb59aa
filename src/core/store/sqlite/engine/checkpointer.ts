import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { monotonicMs } from '../../../clock.ts';
import { type CheckpointReport, checkpoint, logBytes } from './checkpoint.ts';
import { type Connection, keptLogBytes } from './sqlite-connection.ts';

/**
 * Pages of 4 KiB in a write-ahead log from which it is copied: 16 MiB, which takes about 6 ms. Commits wait for the
 * disk meanwhile; at 64 MiB they waited 60 ms at a time.
 */
const startAtPages = 4096;
/** With so few pages left, the writer copies the rest in a few milliseconds, and the log starts over. */
const finishAtPages = 512;
/**
 * 512 MiB: the other thread cannot keep up, so the writer stops and copies the log itself. Not where a reader is in the way: until
 * it ends nothing can be copied, and then it is so much that requests would wait for longer than they may.
 */
const stopAtPages = 131_072;

const examineEveryMs = 20;
/** How often a log is examined that a reader has kept from being copied for a while. */
const heldEveryMs = 1000;
const heldAfterMs = 2000;
/** The other thread ends after so long without work. */
const idleMs = 10_000;

interface CheckpointFailure {
	readonly databaseId: number;
	readonly reason: string;
}

/** The write-ahead log of a database. */
export interface LogLength {
	readonly databaseId: number;
	readonly bytes: number;
	/** For how long a reader has been known to keep it from being copied; 0 where none does. */
	readonly heldMs: number;
}

const none: readonly CheckpointFailure[] = [];

/**
 * Keeps write-ahead logs short without stalling the writer. Another thread copies the log repeatedly until little is
 * left. The writer copies that rest itself, because a log starts over only when all of it is copied while nobody
 * writes.
 */
export class Checkpointer {
	#thread: Worker | undefined;
	/** Polled, because a busy writer never returns to its event loop. */
	#done = new MessageChannel();
	readonly #busy = new Set<number>();
	readonly #examinedAtMs = new Map<number, number>();
	/** Since when readers keep logs from being copied. */
	readonly #heldSinceMs = new Map<number, number>();
	#failures: CheckpointFailure[] = [];
	#idle: NodeJS.Timeout | undefined;

	/** Databases whose log the other thread could not copy, since the last call. */
	takeFailures(): readonly CheckpointFailure[] {
		this.#takeDone();
		return this.#failures.length > 0 ? this.#failures.splice(0) : none;
	}

	/** To be called by the writer after each commit. */
	afterCommit(databaseId: number, path: string, connection: Connection, nowMs: number): void {
		this.#takeDone();
		if (this.#busy.has(databaseId)) return;
		// A short read is in the way for a moment, too.
		const isHeld = nowMs - (this.#heldSinceMs.get(databaseId) ?? nowMs) >= heldAfterMs;
		const everyMs = isHeld ? heldEveryMs : examineEveryMs;
		if (nowMs - (this.#examinedAtMs.get(databaseId) ?? 0) < everyMs) return;
		this.#examinedAtMs.set(databaseId, nowMs);
		const row = connection.statement('PRAGMA wal_checkpoint(NOOP)').get();
		const logged = Number(row?.log);
		const left = logged - Number(row?.checkpointed);
		if (logged < startAtPages) return;
		if (left <= finishAtPages || (logged > stopAtPages && !isHeld)) {
			if (left > 0) checkpoint(connection.database, 'PASSIVE');
			return;
		}
		this.#ask(databaseId, path);
	}

	#ask(databaseId: number, path: string): void {
		this.#thread ??= this.#startThread();
		this.#endWhenIdle();
		this.#busy.add(databaseId);
		this.#thread.postMessage({ databaseId, path });
	}

	/**
	 * Looks at the logs of open databases, whether anybody writes or not, and has those copied and shortened that are longer than
	 * they need be.
	 */
	examine(open: ReadonlyMap<number, string>, nowMs: number): LogLength[] {
		this.#takeDone();
		for (const databaseId of this.#heldSinceMs.keys())
			if (!open.has(databaseId)) this.#heldSinceMs.delete(databaseId);
		return Array.from(open, ([databaseId, path]) => {
			const bytes = logBytes(path);
			if (bytes > keptLogBytes && !this.#busy.has(databaseId)) this.#ask(databaseId, path);
			return { databaseId, bytes, heldMs: nowMs - (this.#heldSinceMs.get(databaseId) ?? nowMs) };
		});
	}

	/** Started when first needed: many servers never fill a log. */
	#startThread(): Worker {
		this.#done = new MessageChannel();
		const done = this.#done.port2;
		const thread = new Worker(new URL('./checkpointer-thread.ts', import.meta.url), {
			name: 'checkpointer',
			workerData: { done },
			transferList: [done],
		});
		// For example, no file handles are left. The next commit that finds a long log tries again.
		thread.once('error', () => {
			this.#thread = undefined;
			this.#busy.clear();
		});
		return thread;
	}

	#endWhenIdle(): void {
		clearTimeout(this.#idle);
		this.#idle = setTimeout(() => {
			this.#takeDone();
			if (this.#busy.size > 0) return this.#endWhenIdle();
			void this.#thread?.terminate();
			this.#thread = undefined;
		}, idleMs).unref();
	}

	#takeDone(): void {
		const next = () => receiveMessageOnPort(this.#done.port1)?.message as CheckpointReport | undefined;
		for (let done = next(); done; done = next()) {
			const { databaseId, reason, isHeld } = done;
			this.#busy.delete(databaseId);
			if (isHeld) this.#heldSinceMs.getOrInsert(databaseId, monotonicMs());
			else {
				this.#heldSinceMs.delete(databaseId);
				this.#examinedAtMs.delete(databaseId);
			}
			if (reason !== undefined) this.#failures.push({ databaseId, reason });
		}
	}

	async stop(): Promise<void> {
		clearTimeout(this.#idle);
		await this.#thread?.terminate();
	}
}
