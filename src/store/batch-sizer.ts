import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';

/** How long a transaction beside a serving process should take, since uploads of the account wait for it. */
const aimMs = 15;
/** Between two transactions, at least: longer than a server takes to notice that nobody holds the database's lock. */
export const pauseMs = 4;

/** Chooses how much goes into one transaction, so that none holds up those who serve. */
export class BatchSizer {
	readonly #nowMs: () => number;
	readonly #max: number;
	#size: number;

	/** @param first what is tried first; @param most whatever it takes */
	constructor({ initial, max }: { initial: number; max: number }, nowMs: () => number = monotonicMs) {
		this.#size = initial;
		this.#max = max;
		this.#nowMs = nowMs;
	}

	/** How much the next transaction takes. */
	get size(): number {
		return this.#size;
	}

	/** Runs a transaction, measures it, and leaves the database to others for a moment. */
	async run<Outcome>(transaction: () => Promise<Outcome>): Promise<Outcome> {
		const beganMs = this.#nowMs();
		const outcome = await transaction();
		const tookMs = Math.max(1, this.#nowMs() - beganMs);
		// At once less, but more by and by: one that was quick may have been so by chance.
		const fitting = Math.min(2 * this.#size, (this.#size * aimMs) / tookMs);
		this.#size = Math.max(
			1,
			Math.min(this.#max, Math.ceil(fitting < this.#size ? fitting : (this.#size + fitting) / 2)),
		);
		await delay(pauseMs);
		return outcome;
	}
}
