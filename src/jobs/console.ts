import { Worker } from 'node:worker_threads';
import type { EntranceSettings } from '../console/entrance.ts';
import type { ConsoleAnswer, ConsoleRequest } from '../console/exchange.ts';
import type { Log } from '../log.ts';
import type { StorePlace } from '../store/store.ts';
import type { ConsoleData, FromConsole, ToConsole } from './messages.ts';

/** The thread ends when nobody has asked for a page for so long: it takes some 40 MB. */
const idleMs = 10 * 60_000;
const endWithinMs = 5000;

/**
 * Answers requests to the console on a thread of its own, so that uploads, hits and reads do not wait for pages. It begins
 * with the first request.
 */
export class ConsoleThread {
	readonly #place: StorePlace;
	readonly #settings: () => EntranceSettings;
	readonly #log: Log;
	readonly #waiting = new Map<number, PromiseWithResolvers<ConsoleAnswer>>();
	#thread: Worker | undefined;
	#ended: Promise<void> = Promise.resolve();
	#idle: NodeJS.Timeout | undefined;
	#lastId = 0;

	/** @param settings known when the first request comes */
	constructor(place: StorePlace, settings: () => EntranceSettings, log: Log) {
		this.#place = place;
		this.#settings = settings;
		this.#log = log;
	}

	answer(request: ConsoleRequest): Promise<ConsoleAnswer> {
		this.#thread ??= this.#start();
		clearTimeout(this.#idle);
		this.#idle = setTimeout(() => void this.stop(), idleMs).unref();
		const id = ++this.#lastId;
		const waiting = Promise.withResolvers<ConsoleAnswer>();
		this.#waiting.set(id, waiting);
		this.#post({ type: 'request', id, request });
		return waiting.promise;
	}

	#start(): Worker {
		const workerData: ConsoleData = { place: this.#place, entrance: this.#settings() };
		const thread = new Worker(new URL('./console-thread.ts', import.meta.url), {
			name: 'console',
			workerData,
		});
		const ended = Promise.withResolvers<void>();
		this.#ended = ended.promise;
		thread.on('message', (message: FromConsole) => {
			if (message.type === 'failed')
				return this.#log.error({ path: message.path, cause: message.cause }, 'a page of the console failed');
			this.#waiting.get(message.id)?.resolve(message.answer);
			this.#waiting.delete(message.id);
		});
		thread.on('error', (error) =>
			this.#log.error(
				{ cause: error instanceof Error ? error.stack : error },
				'the thread of the console died',
			),
		);
		thread.on('exit', () => {
			if (this.#thread === thread) this.#thread = undefined;
			for (const { reject } of this.#waiting.values())
				reject(new Error('the thread of the console has ended'));
			this.#waiting.clear();
			ended.resolve();
		});
		return thread;
	}

	#post(message: ToConsole): void {
		this.#thread?.postMessage(message);
	}

	/** Resolves when the thread has ended. */
	async stop(): Promise<void> {
		clearTimeout(this.#idle);
		const thread = this.#thread;
		if (!thread) return this.#ended;
		this.#post({ type: 'stop' });
		this.#thread = undefined;
		const late = setTimeout(() => void thread.terminate(), endWithinMs);
		await this.#ended;
		clearTimeout(late);
	}
}
