import { reasonOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { StorePlace } from '../../core/store/store.ts';
import type { EntranceSettings } from '../../kit/console/entrance.ts';
import type { ConsoleAnswer, ConsoleRequest } from '../../kit/console/exchange.ts';
import { Thread } from '../../kit/jobs/thread.ts';
import type { ConsoleData } from './thread-messages.ts';

/** The thread ends when nobody has asked for a page for so long: it takes some 40 MB. */
const idleMs = 10 * 60_000;
const endWithinMs = 5000;

/**
 * Answers requests to the console on a thread of its own, so that uploads, hits and reads do not wait for pages. It begins
 * with the first request.
 */
export class ConsoleThread {
	readonly #start: () => Thread<ConsoleRequest>;
	#thread: Thread<ConsoleRequest> | undefined;
	#ending: Promise<void> = Promise.resolve();
	#idle: NodeJS.Timeout | undefined;

	/** @param settings known when the first request comes */
	constructor(place: StorePlace, settings: () => EntranceSettings, log: Log) {
		this.#start = () => {
			const workerData: ConsoleData = { place, entrance: settings() };
			const thread = new Thread<ConsoleRequest>({
				file: new URL('./console-thread.ts', import.meta.url),
				name: 'console',
				workerData,
				log,
				onEnd: (reason) => {
					if (this.#thread !== thread) return;
					this.#thread = undefined;
					log.error({ cause: reason.stack ?? reasonOf(reason) }, 'the thread of the console died');
				},
			});
			return thread;
		};
	}

	answer(request: ConsoleRequest): Promise<ConsoleAnswer> {
		this.#thread ??= this.#start();
		clearTimeout(this.#idle);
		this.#idle = setTimeout(() => void this.stop(), idleMs).unref();
		return this.#thread.call(request);
	}

	/** Resolves when the thread has ended. */
	stop(): Promise<void> {
		clearTimeout(this.#idle);
		if (this.#thread) this.#ending = this.#thread.stop(endWithinMs);
		this.#thread = undefined;
		return this.#ending;
	}
}
