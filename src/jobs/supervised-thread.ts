import { Worker } from 'node:worker_threads';

const firstRestartMs = 1000;
/** The pause doubles up to this, and begins anew with a thread that has lived for so long. */
const longestRestartMs = 60_000;

export interface SupervisedThreadOptions<Message> {
	/** The thread's file. */
	readonly file: URL;
	/** What it is given, every time. */
	readonly workerData: unknown;
	readonly onMessage: (message: Message) => void;
	/** It has ended though nobody has asked it to, and is started again. */
	readonly onDeath: (error: unknown) => void;
}

/** A thread that is to be there until it is stopped: one that dies is started again. */
export class SupervisedThread<Message> {
	readonly #options: SupervisedThreadOptions<Message>;
	#thread: Worker;
	#ended = Promise.withResolvers<void>();
	#restart: NodeJS.Timeout | undefined;
	#restartMs = firstRestartMs;
	#isStopping = false;

	constructor(options: SupervisedThreadOptions<Message>) {
		this.#options = options;
		this.#thread = this.#start();
	}

	#start(): Worker {
		const { file, workerData, onMessage } = this.#options;
		const startedMs = performance.now();
		const thread = new Worker(file, { workerData });
		let reason: unknown = new Error('the thread has ended by itself');
		thread.on('message', onMessage);
		thread.on('error', (error) => {
			reason = error;
		});
		thread.on('exit', () => {
			if (performance.now() - startedMs > longestRestartMs) this.#restartMs = firstRestartMs;
			this.#ended.resolve();
			if (!this.#isStopping) this.#startLater(reason);
		});
		return thread;
	}

	#startLater(reason: unknown): void {
		this.#options.onDeath(reason);
		this.#restart = setTimeout(() => {
			this.#ended = Promise.withResolvers();
			this.#thread = this.#start();
		}, this.#restartMs).unref();
		this.#restartMs = Math.min(longestRestartMs, 2 * this.#restartMs);
	}

	/** Lost where the thread is not there at the moment. */
	post(message: unknown): void {
		this.#thread.postMessage(message);
	}

	/** @param message what asks the thread to end by itself; without it, it is ended at once */
	async stop(message?: unknown): Promise<void> {
		this.#isStopping = true;
		clearTimeout(this.#restart);
		if (message === undefined) await this.#thread.terminate();
		else this.post(message);
		await this.#ended.promise;
	}
}
