import { setTimeout as delay } from 'node:timers/promises';

/** Sleeps that can be cut short. A wake that comes while nobody sleeps ends the next sleep at once. */
export class WakeableSleep {
	readonly #ref: boolean;
	#woken = Promise.withResolvers<void>();

	/** @param options.ref whether a sleep keeps the process alive */
	constructor({ ref = true } = {}) {
		this.#ref = ref;
	}

	wake(): void {
		this.#woken.resolve();
	}

	/** Resolves after this time, or when woken; at once if the time is over. */
	async sleep(ms: number): Promise<void> {
		if (ms > 0) {
			const slept = new AbortController();
			const sleeping = delay(ms, undefined, { signal: slept.signal, ref: this.#ref }).catch(() => {});
			await Promise.race([this.#woken.promise, sleeping]);
			slept.abort();
		}
		this.#woken = Promise.withResolvers();
	}
}
