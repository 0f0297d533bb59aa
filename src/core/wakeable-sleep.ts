import { setTimeout as delay } from 'node:timers/promises';

/** A sleep that can be cut short. A wake while nobody sleeps ends the next sleep at once. */
export class WakeableSleep {
	readonly #ref: boolean;
	#woken = Promise.withResolvers<void>();

	/** @param options.ref whether a sleep keeps the event loop alive */
	constructor({ ref = true } = {}) {
		this.#ref = ref;
	}

	wake(): void {
		this.#woken.resolve();
	}

	/** Resolves after `ms`, or when woken. Resolves at once if `ms` is not positive. */
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
