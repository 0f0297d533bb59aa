import { monotonicMs } from './clock.ts';

/**
 * The time by which a request must be decided, counted from its arrival. The decision is made once. If time runs out
 * before the store begins to commit, the request expires and nothing of it is stored. Once the commit has begun, the
 * deadline no longer matters.
 */
export class Deadline {
	/** On the clock of `monotonicMs()`. */
	readonly atMs: number;
	readonly #timer: NodeJS.Timeout;
	#expire: () => boolean = () => true;
	#expired = false;

	/** @param onExpired called once, if the request expires */
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

	/**
	 * Shares the decision with a store.
	 * @param expire tries to expire the request; false if the commit has begun
	 */
	decideBy(expire: () => boolean): void {
		this.#expire = expire;
	}

	/** To be called when the request is answered. */
	clear(): void {
		clearTimeout(this.#timer);
	}
}
