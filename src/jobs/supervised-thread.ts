import { Worker } from 'node:worker_threads';

const firstRestartMs = 1000;
/** The pause before a restart doubles up to this. It is reset once a thread has lived this long. */
const maxRestartMs = 60_000;
export interface SupervisedThreadOptions<Received> {
	/** The thread's module. */
	readonly file: URL;
	/** Of the thread, for who looks at the process. */
	readonly name: string;
	/** What the thread starts with, each time. */
	readonly workerData: () => unknown;
	readonly onMessage: (message: Received) => void;
	/** Called when the thread died unexpectedly; it will be restarted. */
	readonly onDeath: (error: unknown) => void;
	/** A thread that has not ended by then is cut off: it may wait for a database server that has vanished. */
	readonly endWithinMs: number;
}

/** A worker thread that is restarted when it dies, until it is stopped. */
export class SupervisedThread<Received, Sent> {
	readonly #options: SupervisedThreadOptions<Received>;
	#thread: Worker;
	#ended = Promise.withResolvers<void>();
	#restart: NodeJS.Timeout | undefined;
	#restartMs = firstRestartMs;
	#isStopping = false;

	constructor(options: SupervisedThreadOptions<Received>) {
		this.#options = options;
		this.#thread = this.#start();
	}

	#start(): Worker {
		const { file, name, workerData, onMessage } = this.#options;
		const startedMs = performance.now();
		const thread = new Worker(file, { name, workerData: workerData() });
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
	post(message: Sent): void {
		this.#thread.postMessage(message);
	}

	/** @param message asks the thread to exit by itself */
	async stop(message: Sent): Promise<void> {
		this.#isStopping = true;
		clearTimeout(this.#restart);
		this.post(message);
		const late = setTimeout(() => void this.#thread.terminate(), this.#options.endWithinMs);
		await this.#ended.promise;
		clearTimeout(late);
	}
}
