import { Worker } from 'node:worker_threads';
import type { Deadline } from '../../../deadline.ts';
import { OutcomeUnknownError, QueueFullError, StorageError } from '../../../errors.ts';
import type { LogLength } from '../engine/checkpointer.ts';
import type { CommandInput, CommandName, CommandOutcome } from './commands.ts';
import {
	cell,
	controlDatabaseId,
	type FromWriter,
	type ToWriter,
	type Work,
	type WorkResult,
	type WriterData,
} from './messages.ts';

/** How much may wait, over all queues that share the bounds; one request more is refused. */
export interface QueueBounds {
	readonly maxWaiting: number;
	/** Bounds memory. */
	readonly maxCharacters: number;
	waiting: number;
	characters: number;
}

export interface WriteQueueOptions {
	readonly folderPath: string;
	/** Of the thread, for who looks at the process. */
	readonly name: string;
	/** Databases that the thread keeps open. */
	readonly openDatabases: number;
	/** How many requests may wait, of all bounds together. */
	readonly slots: number;
	/** Of accounts' databases. `seconds`: from BEGIN to the end of COMMIT. */
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onError: (databaseId: number, reason: string) => void;
	/** What the thread's write-ahead logs are like, every few seconds. */
	readonly onLogs: (logs: readonly LogLength[]) => void;
	/** An account has background work. */
	readonly onWaiting: (databaseId: number) => void;
	/** Takes what waits for a thread that cannot start: there may be no file handles left. */
	readonly elsewhere?: WriteQueue | undefined;
	/** The thread has died; the process cannot store anything any more. */
	readonly onDeath: (error: Error) => void;
}

/**
 * Requests per message. The rest of one turn of the event loop follows in further messages, so that the thread begins
 * while this one still handles requests. Measured with 64 connections: messages of 8 cost 4 to 18 % more CPU, of 64
 * 2 to 20 %.
 */
const messageLength = 32;

interface WaitingCommand {
	readonly resolve: (value: unknown) => void;
	readonly reject: (error: Error) => void;
	readonly characters: number;
	readonly deadline: Deadline | undefined;
	readonly bounds: QueueBounds;
}

/**
 * A writer thread and what waits for it. Sends the requests of one turn of the event loop in a few messages, and returns
 * each result to its request.
 */
export class WriteQueue {
	readonly #thread: Worker;
	readonly #options: WriteQueueOptions;
	readonly #cells: Int32Array;
	readonly #freeSlots: number[];
	readonly #waiting: (WaitingCommand | undefined)[];
	readonly #ended: Promise<void>;
	/** Until the thread is ready it is sent nothing. */
	#outbox: Work[] = [];
	#isReady = false;
	/** Instead of the thread, which did not start. */
	#elsewhere: WriteQueue | undefined;

	/** Starts the thread, which takes work when it is loaded. */
	constructor(options: WriteQueueOptions) {
		const { folderPath, openDatabases, name, slots } = options;
		const cells = new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT);
		this.#options = options;
		this.#cells = new Int32Array(cells);
		this.#freeSlots = Array.from({ length: slots }, (_, index) => slots - 1 - index);
		this.#waiting = Array.from({ length: slots });
		const workerData: WriterData = { folderPath, openDatabases, cells };
		this.#thread = new Worker(new URL('./writer-thread.ts', import.meta.url), { name, workerData });
		this.#thread.on('message', (message: FromWriter) => this.#receive(message));
		this.#thread.once('error', (error) => {
			if (options.elsewhere && !this.#isReady) this.#move(options.elsewhere);
			else options.onDeath(error instanceof Error ? error : new Error(String(error)));
		});
		this.#ended = new Promise((resolve) => this.#thread.once('exit', () => resolve()));
		// It has ended with nothing waiting, or it has died.
		void this.#ended.then(() => {
			for (const waiting of this.#waiting) waiting?.reject(new OutcomeUnknownError());
		});
	}

	/**
	 * Makes the thread run a command, durably.
	 * @param options.deadlineMs of `monotonicMs()`; the command is not committed later
	 * @param options.deadline its timer may decide before the thread does
	 * @param options.characters approximate size of the input
	 * @returns the command's value; `expired` if the deadline decided first, and then nothing is stored
	 * @throws QueueFullError; StorageError where the database failed
	 */
	submit<Name extends CommandName>(
		databaseId: number,
		command: Name,
		input: CommandInput<Name>,
		options: {
			deadlineMs: number;
			bounds: QueueBounds;
			deadline?: Deadline | undefined;
			characters?: number;
		},
	): Promise<CommandOutcome<Name> | 'expired'> {
		if (this.#elsewhere) return this.#elsewhere.submit(databaseId, command, input, options);
		const { deadlineMs, bounds, deadline, characters = 0 } = options;
		if (bounds.waiting >= bounds.maxWaiting || bounds.characters + characters > bounds.maxCharacters)
			return Promise.reject(new QueueFullError());
		bounds.waiting++;
		bounds.characters += characters;
		const slot = this.#freeSlots.pop() as number;
		Atomics.store(this.#cells, slot, cell.waiting);
		deadline?.decideBy(
			() => Atomics.compareExchange(this.#cells, slot, cell.waiting, cell.expired) === cell.waiting,
		);
		if (this.#outbox.length === 0) this.#flushSoon();
		this.#outbox.push({ slot, databaseId, command, input, deadlineMs });
		if (this.#outbox.length >= messageLength) this.#flush();
		return new Promise((resolve, reject) => {
			const settle = { resolve: resolve as (value: unknown) => void, reject };
			this.#waiting[slot] = { ...settle, characters, deadline, bounds };
		});
	}

	/**
	 * Sends at once if the thread is idle. If it is busy, waits a millisecond, because larger groups cost less
	 * (measured at half of the peak load: p99 24 ms instead of 45 ms).
	 */
	#flushSoon(): void {
		const isBusy = this.#waiting.length - this.#freeSlots.length > 1;
		if (isBusy) setTimeout(() => this.#flush(), 1);
		else setImmediate(() => this.#flush());
	}

	#flush(): void {
		if (this.#outbox.length === 0 || !this.#isReady) return;
		this.#post(this.#outbox);
		this.#outbox = [];
	}

	#post(message: ToWriter): void {
		this.#thread.postMessage(message);
	}

	#receive(message: FromWriter): void {
		const { onCommit, onError, onLogs, onWaiting } = this.#options;
		if (message.type === 'ready') {
			this.#isReady = true;
			this.#flush();
		} else if (message.type === 'results') {
			if (message.databaseId !== controlDatabaseId) onCommit(message.group);
			for (const result of message.results) this.#settle(result);
		} else if (message.type === 'error') onError(message.databaseId, message.reason);
		else if (message.type === 'logs') onLogs(message.logs);
		else if (message.type === 'waiting') onWaiting(message.databaseId);
	}

	#move(elsewhere: WriteQueue): void {
		this.#elsewhere = elsewhere;
		for (const { slot, databaseId, command, input, deadlineMs } of this.#outbox) {
			const { resolve, reject, ...waiting } = this.#free(slot) as WaitingCommand;
			elsewhere.submit(databaseId, command, input as never, { ...waiting, deadlineMs }).then(resolve, reject);
		}
	}

	#free(slot: number): WaitingCommand | undefined {
		const waiting = this.#waiting[slot];
		if (!waiting) return undefined;
		this.#waiting[slot] = undefined;
		// Its timer may fire late, and must not expire the slot's next request.
		waiting.deadline?.decideBy(() => false);
		this.#freeSlots.push(slot);
		waiting.bounds.waiting--;
		waiting.bounds.characters -= waiting.characters;
		return waiting;
	}

	#settle(result: WorkResult): void {
		const waiting = this.#free(result.slot);
		if (!waiting) return;
		if (result.outcome === 'committed') waiting.resolve(result.value);
		else if (result.outcome === 'expired') waiting.resolve('expired');
		else if (result.outcome === 'unknown') waiting.reject(new OutcomeUnknownError());
		else waiting.reject(new StorageError(result.reason));
	}

	/** Lets the thread finish what waits, close its databases and end. */
	async stop(): Promise<void> {
		this.#isReady = true;
		this.#flush();
		this.#post('stop');
		await this.#ended;
	}
}
