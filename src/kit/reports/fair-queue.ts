import { QueueFullError } from '../../core/errors.ts';

/** Runs jobs one at a time. Clients take turns, so that one that asks for much keeps nobody else waiting for all of it. */
export class FairQueue<Client> {
	readonly #maxWaiting: number;
	/** What begins each waiting job, by client, in the order of the clients' turns. */
	readonly #waiting = new Map<Client, Set<() => void>>();
	#isBusy = false;

	/** @param maxWaiting the jobs of one client that may wait, besides one that runs */
	constructor(maxWaiting: number) {
		this.#maxWaiting = maxWaiting;
	}

	/**
	 * Runs a job when it is the client's turn.
	 * @param signal aborted when nobody needs the job any more: it no longer waits, and should end if it runs
	 * @throws QueueFullError, or why the signal was aborted
	 */
	async run<Result>(client: Client, signal: AbortSignal, job: () => Promise<Result>): Promise<Result> {
		signal.throwIfAborted();
		if (this.#isBusy) await this.#turnOf(client, signal);
		this.#isBusy = true;
		try {
			signal.throwIfAborted();
			return await job();
		} finally {
			this.#beginNext(client);
		}
	}

	#turnOf(client: Client, signal: AbortSignal): Promise<void> {
		const jobs = this.#waiting.get(client) ?? new Set();
		if (jobs.size >= this.#maxWaiting) throw new QueueFullError('too many jobs of this client wait');
		this.#waiting.set(client, jobs);
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		jobs.add(resolve);
		const giveUp = () => {
			this.#remove(client, jobs, resolve);
			reject(signal.reason);
		};
		signal.addEventListener('abort', giveUp, { once: true });
		return promise.finally(() => signal.removeEventListener('abort', giveUp));
	}

	#beginNext(before: Client): void {
		const behind = this.#waiting.get(before);
		if (behind) {
			this.#waiting.delete(before);
			this.#waiting.set(before, behind);
		}
		for (const [client, jobs] of this.#waiting)
			for (const begin of jobs) {
				this.#remove(client, jobs, begin);
				begin();
				return;
			}
		this.#isBusy = false;
	}

	#remove(client: Client, jobs: Set<() => void>, begin: () => void): void {
		jobs.delete(begin);
		if (jobs.size === 0 && this.#waiting.get(client) === jobs) this.#waiting.delete(client);
	}
}
