import { Worker } from 'node:worker_threads';
import type { Deadline } from '../../deadline.ts';
import { QueueFullError, StorageError } from '../../errors.ts';
import type { ClientCommands, CommandResult, ControlCommands } from './commands.ts';
import {
	type CommandName,
	cell,
	type FromWriter,
	type ToWriter,
	type Work,
	type WorkResult,
} from './messages.ts';

type Commands = ClientCommands & ControlCommands;
type Input<Name extends CommandName> = Parameters<Commands[Name]>[1];
type CommandValue<Name extends CommandName> =
	ReturnType<Commands[Name]> extends CommandResult<infer V> ? V : never;

export interface WriterOptions {
	readonly folderPath: string;
	/** The thread's name, for operators. */
	readonly name: string;
	/** May be shared with other writers. */
	readonly bounds: QueueBounds;
	/** The maximum number of databases that the thread keeps open. */
	readonly openDatabases: number;
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onError: (databaseId: number, reason: string) => void;
	readonly onWaiting: (databaseId: number) => void;
	/** The thread has died, and this process cannot store anything any more. */
	readonly onDeath: (error: Error) => void;
}

/**
 * Requests per message. The rest of one turn of the event loop follows in further messages, so that the writer begins
 * while this thread still reads requests (measured: 15 % more uploads than with one message per turn).
 */
const messageLength = 8;

/** The limits of what may wait for writers. */
export class QueueBounds {
	readonly length: number;
	readonly #maxCharacters: number;
	#waiting = 0;
	#characters = 0;

	constructor(length: number, characters: number) {
		this.length = length;
		this.#maxCharacters = characters;
	}

	get waiting(): number {
		return this.#waiting;
	}

	/** @returns false if the queue is full */
	enter(characters: number): boolean {
		if (this.#waiting === this.length || this.#characters + characters > this.#maxCharacters) return false;
		this.#waiting++;
		this.#characters += characters;
		return true;
	}

	leave(characters: number): void {
		this.#waiting--;
		this.#characters -= characters;
	}
}

const outcomeUnknown = 'outcome unknown; retrying is safe';

interface Waiting {
	readonly resolve: (value: unknown) => void;
	readonly reject: (error: Error) => void;
	readonly characters: number;
	readonly deadline: Deadline | undefined;
}

/**
 * The serving thread's side of a writer thread. Sends the requests of one turn of the event loop in a few messages, and
 * returns each result to its request. The number and size of waiting requests are bounded.
 */
export class Writer {
	readonly #options: WriterOptions;
	readonly #thread: Worker;
	readonly #cells: Int32Array;
	readonly #freeSlots: number[];
	readonly #waiting: (Waiting | undefined)[];
	#outbox: Work[] = [];
	#ended: Promise<void>;

	private constructor(options: WriterOptions) {
		const { length } = options.bounds;
		this.#options = options;
		const cellsBuffer = new SharedArrayBuffer(length * Int32Array.BYTES_PER_ELEMENT);
		this.#cells = new Int32Array(cellsBuffer);
		this.#freeSlots = Array.from({ length }, (_, index) => length - 1 - index);
		this.#waiting = Array.from({ length });
		this.#thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
			name: options.name,
			workerData: { folderPath: options.folderPath, cellsBuffer, openDatabases: options.openDatabases },
		});
		this.#thread.on('message', (message: FromWriter) => this.#receive(message));
		this.#ended = new Promise((resolve) => this.#thread.once('exit', () => resolve()));
		this.#thread.once('error', (error) => {
			for (const waiting of this.#waiting)
				waiting?.reject(new StorageError(outcomeUnknown, { cause: error }));
			options.onDeath(error instanceof Error ? error : new Error(String(error)));
		});
	}

	static async start(options: WriterOptions): Promise<Writer> {
		const writer = new Writer(options);
		await new Promise<void>((resolve, reject) => {
			writer.#thread.once('message', () => resolve());
			writer.#thread.once('error', reject);
		});
		return writer;
	}

	/** Number of requests that have not been answered. */
	get depth(): number {
		return this.#options.bounds.length - this.#freeSlots.length;
	}

	/**
	 * Makes the writer thread run a command, durably.
	 * @param options.deadlineMs of `monotonicMs()`; the command is not committed later
	 * @param options.deadline its timer may decide before the thread does
	 * @param options.characters approximate size of the input
	 * @returns the command's value; `expired` if the deadline decided first, and then nothing is stored
	 * @throws QueueFullError; StorageError where the database failed
	 */
	submit<Name extends CommandName>(
		databaseId: number,
		command: Name,
		input: Input<Name>,
		options: { deadlineMs: number; deadline?: Deadline; characters?: number },
	): Promise<CommandValue<Name> | 'expired'> {
		const characters = options.characters ?? 0;
		if (!this.#options.bounds.enter(characters)) return Promise.reject(new QueueFullError());
		// There are as many slots as may wait.
		const slot = this.#freeSlots.pop() as number;
		Atomics.store(this.#cells, slot, cell.waiting);
		options.deadline?.decideBy(
			() => Atomics.compareExchange(this.#cells, slot, cell.waiting, cell.expired) === cell.waiting,
		);
		if (this.#outbox.length === 0) this.#flushSoon();
		this.#outbox.push({
			slot,
			databaseId,
			command,
			input,
			deadlineMs: options.deadlineMs,
		});
		if (this.#outbox.length >= messageLength) this.#flush();
		return new Promise((resolve, reject) => {
			this.#waiting[slot] = {
				resolve: resolve as (value: unknown) => void,
				reject,
				characters,
				deadline: options.deadline,
			};
		});
	}

	/**
	 * Sends at once if the thread is idle. If it is busy, waits a millisecond, because larger groups cost less
	 * (measured at half of the peak load: p99 24 ms instead of 45 ms).
	 */
	#flushSoon(): void {
		if (this.depth > 1) setTimeout(() => this.#flush(), 1);
		else setImmediate(() => this.#flush());
	}

	#flush(): void {
		if (this.#outbox.length === 0) return;
		this.#post({ type: 'work', work: this.#outbox });
		this.#outbox = [];
	}

	#post(message: ToWriter): void {
		this.#thread.postMessage(message);
	}

	#receive(message: FromWriter): void {
		if (message.type === 'error') this.#options.onError(message.databaseId, message.reason);
		if (message.type === 'waiting') this.#options.onWaiting(message.databaseId);
		if (message.type !== 'results') return;
		this.#options.onCommit({ size: message.results.length, seconds: message.commitSeconds });
		for (const result of message.results) this.#settle(result);
	}

	#settle(result: WorkResult): void {
		const waiting = this.#waiting[result.slot];
		if (!waiting) return;
		this.#waiting[result.slot] = undefined;
		// Its timer may fire late, and must not expire the slot's next request.
		waiting.deadline?.decideBy(() => false);
		this.#freeSlots.push(result.slot);
		this.#options.bounds.leave(waiting.characters);
		if (result.outcome === 'committed') waiting.resolve(result.value);
		else if (result.outcome === 'expired') waiting.resolve('expired');
		else if (result.outcome === 'unknown') waiting.reject(new StorageError(outcomeUnknown));
		else waiting.reject(new StorageError(result.reason));
	}

	/** Lets the thread finish its requests, close its databases and end. */
	async stop(): Promise<void> {
		this.#flush();
		this.#post({ type: 'stop' });
		await this.#ended;
	}
}
