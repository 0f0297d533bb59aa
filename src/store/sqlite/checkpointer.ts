import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type Checkpointed, checkpoint } from './checkpoint.ts';
import type { Connection } from './connection.ts';

/**
 * Pages of 4 KiB in a write-ahead log beyond which it is copied back: 16 MiB, which takes some 6 ms. Commits wait for
 * the disk meanwhile; at 64 MiB they did so for 60 ms at a time.
 */
const startAtPages = 4096;
/** So few left that the writer itself finishes, in a few milliseconds, and the log starts over at its beginning. */
const finishAtPages = 512;
/** 512 MiB: the other thread cannot keep up; the writer stops and does it. */
const stopAtPages = 131_072;

const examineEveryMs = 20;

interface CheckpointFailure {
	readonly databaseId: number;
	readonly reason: string;
}

const none: readonly CheckpointFailure[] = [];

/**
 * Keeps write-ahead logs short without stalling the writer: the bulk is copied back by another thread, again and
 * again until little is left; that little the writer copies itself, because a log only starts over when all of it
 * is copied at a moment when nobody writes.
 */
export class Checkpointer {
	#thread: Worker | undefined;
	/** Polled: a writer that always has more to do never gets to its event loop. */
	#done = new MessageChannel();
	readonly #busy = new Set<number>();
	readonly #examinedAtMs = new Map<number, number>();
	#failures: CheckpointFailure[] = [];

	/** The databases whose log the other thread could not copy, since the last call. */
	takeFailures(): readonly CheckpointFailure[] {
		this.#takeDone();
		return this.#failures.length > 0 ? this.#failures.splice(0) : none;
	}

	/** Called by the writer after each commit. */
	afterCommit(databaseId: number, path: string, connection: Connection, nowMs: number): void {
		this.#takeDone();
		if (this.#busy.has(databaseId)) return;
		if (nowMs - (this.#examinedAtMs.get(databaseId) ?? 0) < examineEveryMs) return;
		this.#examinedAtMs.set(databaseId, nowMs);
		const row = connection.statement('PRAGMA wal_checkpoint(NOOP)').get();
		const logged = Number(row?.log);
		const left = logged - Number(row?.checkpointed);
		if (logged < startAtPages) return;
		if (left <= finishAtPages || logged > stopAtPages) {
			if (left > 0) checkpoint(connection.database, 'PASSIVE');
			return;
		}
		this.#thread ??= this.#startThread();
		this.#busy.add(databaseId);
		this.#thread.postMessage({ databaseId, path });
	}

	/** Only when there is something to do: many servers never fill a log. */
	#startThread(): Worker {
		this.#done = new MessageChannel();
		const done = this.#done.port2;
		const thread = new Worker(new URL('./checkpointer-thread.ts', import.meta.url), {
			name: 'checkpointer',
			workerData: { done },
			transferList: [done],
		});
		// Where there are no file handles left, say. The next commit that finds a long log tries again.
		thread.once('error', () => {
			this.#thread = undefined;
			this.#busy.clear();
		});
		return thread;
	}

	#takeDone(): void {
		const next = () => receiveMessageOnPort(this.#done.port1)?.message as Checkpointed | undefined;
		for (let done = next(); done; done = next()) {
			const { databaseId, reason } = done;
			this.#busy.delete(databaseId);
			this.#examinedAtMs.delete(databaseId);
			if (reason !== undefined) this.#failures.push({ databaseId, reason });
		}
	}

	async stop(): Promise<void> {
		await this.#thread?.terminate();
	}
}
