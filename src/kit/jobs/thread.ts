import { Worker, type WorkerOptions } from 'node:worker_threads';
import { OperatorError, UnavailableError } from '../../core/errors.ts';
import type { WorkLog } from '../../core/log.ts';

/** What a thread is sent. A call has a number, and is answered. */
export type ToThread = { readonly call?: number; readonly sent: unknown } | 'end';

/** What a thread sends. */
export type FromThread =
	| { readonly type: 'event'; readonly event: unknown }
	| {
			readonly type: 'log';
			readonly level: keyof WorkLog;
			readonly fields: object;
			readonly text: string;
	  }
	| { readonly type: 'progress'; readonly call: number; readonly progress: unknown }
	| { readonly type: 'done'; readonly call: number; readonly result: unknown }
	| { readonly type: 'refused' | 'unavailable' | 'failed'; readonly call: number; readonly reason: string };

export interface ThreadOptions<Event> extends Pick<WorkerOptions, 'workerData' | 'resourceLimits'> {
	/** Its module, which calls `serveThread`. */
	readonly file: URL;
	/** For who looks at the process. */
	readonly name: string;
	readonly log?: WorkLog;
	readonly onEvent?: (event: Event) => void;
	/** Called when it has ended, with the reason. */
	readonly onEnd?: (reason: Error) => void;
}

/** V8's default lets the young objects of each thread take some 50 MiB, and a training has three threads. */
export const fewYoungObjects = { maxYoungGenerationSizeMb: 8 };

const errorClasses = { refused: OperatorError, unavailable: UnavailableError, failed: Error };

interface Call {
	readonly resolve: (result: never) => void;
	readonly reject: (reason: Error) => void;
	readonly onProgress: (progress: never) => void;
}

/** A thread of this process. It may do several calls at a time. */
export class Thread<Sent, Event = never> {
	readonly #worker: Worker;
	readonly #options: ThreadOptions<Event>;
	readonly #calls = new Map<number, Call>();
	readonly #ended = Promise.withResolvers<void>();
	#lastCall = 0;
	hasEnded = false;

	constructor(options: ThreadOptions<Event>) {
		const { file, name, log: _, onEvent: __, onEnd, ...rest } = options;
		this.#options = options;
		this.#worker = new Worker(file, { name, ...rest });
		let reason = new Error(`the thread of the ${name} has ended`);
		this.#worker
			.on('message', (message: FromThread) => this.#receive(message))
			.on('error', (error: Error) => {
				reason = error;
			})
			.on('exit', () => {
				this.hasEnded = true;
				for (const { reject } of this.#calls.values()) reject(reason);
				onEnd?.(reason);
				this.#ended.resolve();
			});
	}

	#receive(message: FromThread): void {
		const { log, onEvent } = this.#options;
		if (message.type === 'event') onEvent?.(message.event as Event);
		else if (message.type === 'log') log?.[message.level](message.fields, message.text);
		else this.#settle(message);
	}

	#settle(message: Extract<FromThread, { call: number }>): void {
		const { resolve, reject, onProgress } = this.#calls.get(message.call) as Call;
		if (message.type !== 'progress') this.#calls.delete(message.call);
		if (message.type === 'progress') onProgress(message.progress as never);
		else if (message.type === 'done') resolve(message.result as never);
		else reject(new errorClasses[message.type](message.reason));
	}

	/** @throws OperatorError where it refuses; UnavailableError where a database is not there; an error where it fails, or ends before */
	call<Result, Progress = never>(
		sent: Sent,
		onProgress: (progress: Progress) => void = () => {},
	): Promise<Result> {
		const { promise, resolve, reject } = Promise.withResolvers<Result>();
		const call = ++this.#lastCall;
		this.#calls.set(call, { resolve, reject, onProgress });
		this.#worker.ref();
		this.#send({ call, sent });
		return promise;
	}

	/** Sends what needs no answer. It is lost if the thread has ended. */
	post(sent: Sent): void {
		this.#send({ sent });
	}

	#send(message: ToThread): void {
		this.#worker.postMessage(message);
	}

	/** Lets the process end before it, until the next call. */
	unref(): void {
		this.#worker.unref();
	}

	/** Lets it finish what it has begun. It is cut off if it has not ended by then: it may wait for a server that has vanished. */
	async stop(withinMs: number): Promise<void> {
		this.#send('end');
		const late = setTimeout(() => this.cut(), withinMs);
		await this.#ended.promise;
		clearTimeout(late);
	}

	/** Ends it at once. */
	cut(): void {
		void this.#worker.terminate();
	}
}
