import { monotonicMs } from './clock.ts';

/**
 * The time by which a request must have been decided, counted from its arrival.
 *
 * The decision is taken once: when time is up before the store has begun to commit, the request has expired and
 * nothing of it will be stored; once the commit has begun, the deadline has no say any more.
 */
export class Deadline {
	/** By `monotonicMs()`. */
	readonly atMs: number;
	readonly #timer: NodeJS.Timeout;
	#expire: () => boolean = () => true;
	#expired = false;

	/** @param onExpired called once, when the deadline has won the decision */
	constructor(timeoutMs: number, onExpired: () => void) {
		this.atMs = monotonicMs() + timeoutMs;
		this.#timer = setTimeout(() => {
			if (this.expired || !this.#expire()) return;
			this.#expired = true;
			onExpired();
		}, timeoutMs);
	}

	get expired(): boolean {
		return this.#expired;
	}

	/** From now on the decision is shared with a store: `expire` tries to win it for the deadline. */
	decideBy(expire: () => boolean): void {
		this.#expire = expire;
	}

	/** The request has its answer. */
	clear(): void {
		clearTimeout(this.#timer);
	}
}
