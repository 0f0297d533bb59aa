import { Worker } from 'node:worker_threads';

const firstRestartMs = 1000;
/** The pause before a restart doubles up to this. It is reset once a thread has lived this long. */
const maxRestartMs = 60_000;

export interface SupervisedThreadOptions<Message> {
	/** The thread's module. */
	readonly file: URL;
	/** Passed to the thread on every start. */
	readonly workerData: unknown;
	readonly onMessage: (message: Message) => void;
	/** Called when the thread died unexpectedly; it will be restarted. */
	readonly onDeath: (error: unknown) => void;
}

/** A worker thread that is restarted when it dies, until it is stopped. */
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
		let reason: unknown = new Error('the thread exited unexpectedly');
		thread.on('message', onMessage);
		thread.on('error', (error) => {
			reason = error;
		});
		thread.on('exit', () => {
			if (performance.now() - startedMs > maxRestartMs) this.#restartMs = firstRestartMs;
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
		this.#restartMs = Math.min(maxRestartMs, 2 * this.#restartMs);
	}

	/** The message is lost while the thread is down. */
	post(message: unknown): void {
		this.#thread.postMessage(message);
	}

	/** @param message asks the thread to exit by itself; without it, the thread is terminated */
	async stop(message?: unknown): Promise<void> {
		this.#isStopping = true;
		clearTimeout(this.#restart);
		if (message === undefined) await this.#thread.terminate();
		else this.post(message);
		await this.#ended.promise;
	}
}
