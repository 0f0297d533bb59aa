import { Worker } from 'node:worker_threads';
import { type BirpcReturn, createBirpc } from 'birpc';
import type { QuotaCounter } from '../access/quota.ts';
import { OperatorError } from '../errors.ts';
import type { MetricValues } from '../metrics.ts';
import type { ServingWriter } from '../store/store.ts';
import type { LimitMemory } from './limit-memory.ts';
import {
	callTimeoutMs,
	type MainThreadCalls,
	type ServingThreadCalls,
	type ServingThreadData,
} from './thread-calls.ts';

interface ServingThread {
	readonly worker: Worker;
	readonly calls: BirpcReturn<ServingThreadCalls, MainThreadCalls>;
}

/**
 * Threads that share a port and answer requests. Each reads the databases itself. Writes go to the writer threads, and the
 * counters of limits are in memory that all threads share.
 */
export class ServingThreads {
	readonly #quota: QuotaCounter;
	readonly #writer: ServingWriter;
	readonly #limits: LimitMemory;
	readonly #onDeath: (error: Error) => void;
	readonly #onVisitorChange: (accountId: number) => void;
	readonly #threads: ServingThread[] = [];
	#isEnding = false;

	constructor(options: {
		quota: QuotaCounter;
		writer: ServingWriter;
		limits: LimitMemory;
		onDeath: (error: Error) => void;
		onVisitorChange: (accountId: number) => void;
	}) {
		this.#quota = options.quota;
		this.#writer = options.writer;
		this.#limits = options.limits;
		this.#onDeath = options.onDeath;
		this.#onVisitorChange = options.onVisitorChange;
	}

	/**
	 * Starts the threads.
	 * @returns the URL, once all threads listen
	 * @throws OperatorError if one cannot listen
	 */
	async start(count: number, shared: Omit<ServingThreadData, 'number' | 'link' | 'limits'>): Promise<string> {
		// The first alone: it chooses the port if any will do, and an error is reported only once.
		const { url, port } = await this.#startOne(1, shared.settings.port, shared);
		const others = Array.from({ length: count - 1 }, (_, index) => this.#startOne(index + 2, port, shared));
		await Promise.all(others);
		return url;
	}

	async #startOne(
		number: number,
		port: number,
		shared: Omit<ServingThreadData, 'number' | 'link' | 'limits'>,
	): Promise<{ url: string; port: number }> {
		const link = this.#writer.link?.();
		if (!link) throw new Error('this store is written to by processes, not by threads');
		const data: ServingThreadData = { ...shared, number, limits: this.#limits, link };
		const worker = new Worker(new URL('./serving-thread.ts', import.meta.url), {
			name: `serving-${number}`,
			workerData: data,
			transferList: [...link.transfer],
		});
		const calls = createBirpc<ServingThreadCalls, MainThreadCalls>(
			{
				lend: (keyId, plan) => this.#quota.lend(keyId, plan),
				report: () => this.#quota.report(),
				probe: () => this.#writer.probe(),
				recordKeyUses: (uses) => this.#writer.recordKeyUses(uses),
				visitorsChanged: (accountIds) => accountIds.forEach(this.#onVisitorChange),
			},
			{
				post: (message) => worker.postMessage(message),
				on: (listener) => worker.on('message', listener),
				timeout: callTimeoutMs,
			},
		);
		this.#threads.push({ worker, calls });
		const died = new Promise<never>((_resolve, reject) => {
			worker.once('error', reject);
			worker.once('exit', () => reject(new Error('a serving thread has ended')));
		});
		const listening = await Promise.race([calls.listen(port), died]);
		if ('refused' in listening) throw new OperatorError(listening.refused);
		died.catch((error) => {
			if (!this.#isEnding) this.#onDeath(error);
		});
		return listening;
	}

	/** Returns the metrics of each thread. */
	metrics(): Promise<MetricValues[]> {
		return Promise.all(this.#threads.map(({ calls }) => calls.metrics()));
	}

	/** Resolves when all requests in flight are answered. A thread that dies meanwhile still ends the process. */
	async stop(): Promise<void> {
		await Promise.all(this.#threads.map(({ calls }) => calls.stop()));
	}

	/** Terminates the threads, after `stop` or when they could not all start. */
	async end(): Promise<void> {
		this.#isEnding = true;
		await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
	}
}
