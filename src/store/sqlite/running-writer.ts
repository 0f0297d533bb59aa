import { MessageChannel, Worker } from 'node:worker_threads';
import type { FromWriter, ToWriter, WriterEnd } from './messages.ts';
import type { QueueBounds } from './queue-bounds.ts';

export interface RunningWriterOptions {
	readonly folderPath: string;
	/** Of the thread, for who looks at the process. */
	readonly name: string;
	/** Databases that the thread keeps open. */
	readonly openDatabases: number;
	readonly onError: (databaseId: number, reason: string) => void;
	readonly onWaiting: (databaseId: number) => void;
	/** The thread has died; the process cannot store anything any more. */
	readonly onDeath: (error: Error) => void;
}

/** A writer thread, for the thread that has started it. */
export class RunningWriter {
	readonly #thread: Worker;
	readonly #ended: Promise<void>;

	private constructor(options: RunningWriterOptions) {
		const { folderPath, openDatabases } = options;
		this.#thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
			name: options.name,
			workerData: { folderPath, openDatabases },
		});
		this.#thread.on('message', (message: FromWriter) => {
			if (message.type === 'error') options.onError(message.databaseId, message.reason);
			if (message.type === 'waiting') options.onWaiting(message.databaseId);
		});
		this.#ended = new Promise((resolve) => this.#thread.once('exit', () => resolve()));
		this.#thread.once('error', (error) =>
			options.onDeath(error instanceof Error ? error : new Error(String(error))),
		);
	}

	static async start(options: RunningWriterOptions): Promise<RunningWriter> {
		const writer = new RunningWriter(options);
		await new Promise<void>((resolve, reject) => {
			writer.#thread.once('message', () => resolve());
			writer.#thread.once('error', reject);
		});
		return writer;
	}

	/** Lets a thread hand over work: the returned end may be posted to it, with its port transferred. */
	connect({ length }: QueueBounds): WriterEnd {
		const { port1, port2 } = new MessageChannel();
		const cellsBuffer = new SharedArrayBuffer(length * Int32Array.BYTES_PER_ELEMENT);
		this.#thread.postMessage({ type: 'connect', port: port2, cellsBuffer } satisfies ToWriter, [port2]);
		return { port: port1, cellsBuffer };
	}

	/** Lets the thread finish what it was handed, close its databases and end. */
	async stop(): Promise<void> {
		this.#thread.postMessage({ type: 'stop' } satisfies ToWriter);
		await this.#ended;
	}
}
