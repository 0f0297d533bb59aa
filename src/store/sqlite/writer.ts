import type { MessagePort } from 'node:worker_threads';
import type { Deadline } from '../../deadline.ts';
import { QueueFullError, StorageError } from '../../errors.ts';
import type { ClientCommands, CommandResult, ControlCommands } from './commands.ts';
import {
	type CommandName,
	cell,
	type Results,
	type Work,
	type WorkResult,
	type WriterEnd,
} from './messages.ts';
import type { QueueBounds } from './queue-bounds.ts';

type Commands = ClientCommands & ControlCommands;
type Input<Name extends CommandName> = Parameters<Commands[Name]>[1];
type CommandValue<Name extends CommandName> =
	ReturnType<Commands[Name]> extends CommandResult<infer V> ? V : never;

export type OnCommit = (group: { size: number; seconds: number }) => void;

/**
 * Requests per message. The rest of one turn of the event loop follows in further messages, so that the writer begins
 * while this thread still handles requests. Measured with 64 connections: messages of 8 cost 4 to 18 % more CPU, of 64
 * 2 to 20 %.
 */
const messageLength = 32;

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
	readonly #port: MessagePort;
	readonly #bounds: QueueBounds;
	readonly #onCommit: OnCommit;
	readonly #cells: Int32Array;
	readonly #freeSlots: number[];
	readonly #waiting: (Waiting | undefined)[];
	#outbox: Work[] = [];

	constructor({ port, cellsBuffer }: WriterEnd, bounds: QueueBounds, onCommit: OnCommit) {
		const { length } = bounds;
		this.#port = port;
		this.#bounds = bounds;
		this.#onCommit = onCommit;
		this.#cells = new Int32Array(cellsBuffer);
		this.#freeSlots = Array.from({ length }, (_, index) => length - 1 - index);
		this.#waiting = Array.from({ length });
		port.on('message', (message: Results) => this.#receive(message));
		// When the writer thread has ended, with nothing waiting, or has died.
		port.once('close', () => {
			for (const waiting of this.#waiting) waiting?.reject(new StorageError(outcomeUnknown));
		});
	}

	/** Number of requests that have not been answered. */
	get depth(): number {
		return this.#bounds.length - this.#freeSlots.length;
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
		if (!this.#bounds.enter(characters)) return Promise.reject(new QueueFullError());
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
		if (this.#outbox.length >= messageLength) this.flush();
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
		if (this.depth > 1) setTimeout(() => this.flush(), 1);
		else setImmediate(() => this.flush());
	}

	/** Hands over what waits here; needed before the writer thread is told to stop. */
	flush(): void {
		if (this.#outbox.length === 0) return;
		this.#port.postMessage(this.#outbox);
		this.#outbox = [];
	}

	#receive({ results, group }: Results): void {
		if (group) this.#onCommit(group);
		for (const result of results) this.#settle(result);
	}

	#settle(result: WorkResult): void {
		const waiting = this.#waiting[result.slot];
		if (!waiting) return;
		this.#waiting[result.slot] = undefined;
		// Its timer may fire late, and must not expire the slot's next request.
		waiting.deadline?.decideBy(() => false);
		this.#freeSlots.push(result.slot);
		this.#bounds.leave(waiting.characters);
		if (result.outcome === 'committed') waiting.resolve(result.value);
		else if (result.outcome === 'expired') waiting.resolve('expired');
		else if (result.outcome === 'unknown') waiting.reject(new StorageError(outcomeUnknown));
		else waiting.reject(new StorageError(result.reason));
	}
}
