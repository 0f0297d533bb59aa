import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type Checkpointed, checkpoint } from './checkpoint.ts';
import type { Connection } from './connection.ts';

/**
 * Pages of 4 KiB in a write-ahead log from which it is copied: 16 MiB, which takes about 6 ms. Commits wait for the
 * disk meanwhile; at 64 MiB they waited 60 ms at a time.
 */
const startAtPages = 4096;
/** With so few pages left, the writer copies the rest in a few milliseconds, and the log starts over. */
const finishAtPages = 512;
/** 512 MiB: the other thread cannot keep up, so the writer stops and copies the log itself. */
const stopAtPages = 131_072;

const examineEveryMs = 20;
/** The other thread ends after so long without work. */
const idleMs = 10_000;

interface CheckpointFailure {
	readonly databaseId: number;
	readonly reason: string;
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
		this.#endWhenIdle();
		this.#busy.add(databaseId);
		this.#thread.postMessage({ databaseId, path });
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
		const next = () => receiveMessageOnPort(this.#done.port1)?.message as Checkpointed | undefined;
		for (let done = next(); done; done = next()) {
			const { databaseId, reason } = done;
			this.#busy.delete(databaseId);
			this.#examinedAtMs.delete(databaseId);
			if (reason !== undefined) this.#failures.push({ databaseId, reason });
		}
	}

	async stop(): Promise<void> {
		clearTimeout(this.#idle);
		await this.#thread?.terminate();
	}
}
