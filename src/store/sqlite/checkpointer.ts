import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Connection } from './commands.ts';

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

/**
 * Keeps write-ahead logs short without stalling the writer: the bulk is copied back by another thread, again and
 * again until little is left; that little the writer copies itself, because a log only starts over when all of it
 * is copied at a moment when nobody writes.
 */
export class Checkpointer {
	#thread: Worker | undefined;
	/** Polled: a writer that always has more to do never gets to its event loop. */
	readonly #done = new MessageChannel();
	readonly #busy = new Set<number>();
	readonly #examinedAtMs = new Map<number, number>();

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
			if (left > 0) connection.statement('PRAGMA wal_checkpoint(PASSIVE)').get();
			return;
		}
		this.#busy.add(databaseId);
		this.#thread ??= this.#startThread();
		this.#thread.postMessage({ databaseId, path });
	}

	/** Only when there is something to do: many servers never fill a log. */
	#startThread(): Worker {
		const done = this.#done.port2;
		return new Worker(new URL('./checkpointer-thread.ts', import.meta.url), {
			workerData: { done },
			transferList: [done],
		});
	}

	#takeDone(): void {
		const next = () => receiveMessageOnPort(this.#done.port1)?.message as { databaseId: number } | undefined;
		for (let done = next(); done; done = next()) {
			this.#busy.delete(done.databaseId);
			this.#examinedAtMs.delete(done.databaseId);
		}
	}

	async stop(): Promise<void> {
		await this.#thread?.terminate();
	}
}
