import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';

/** Target duration of a transaction beside a serving process. Uploads of the account wait for it. */
const targetMs = 15;
/** Minimum pause between two transactions. Longer than a server takes to notice that the database's lock is free. */
export const pauseMs = 4;

export interface BatchSizes {
	readonly min?: number;
	readonly initial: number;
	readonly max: number;
}

/** Adapts the batch size of transactions to their duration, so that none delays the serving processes. */
export class BatchSizer {
	readonly #nowMs: () => number;
	readonly #min: number;
	readonly #max: number;
	#size: number;

	/** @param sizes.min where a transaction costs much, however few items it has */
	constructor({ min = 1, initial, max }: BatchSizes, nowMs: () => number = monotonicMs) {
		this.#size = initial;
		this.#min = min;
		this.#max = max;
		this.#nowMs = nowMs;
	}

	/** The size of the next batch. */
	get size(): number {
		return this.#size;
	}

	/** Runs and measures a transaction, then pauses to leave the database to others. */
	async run<Outcome>(transaction: () => Promise<Outcome>): Promise<Outcome> {
		const beganMs = this.#nowMs();
		const outcome = await transaction();
		const tookMs = Math.max(1, this.#nowMs() - beganMs);
		// Shrinks at once but grows gradually: one quick transaction may be chance.
		const fitting = Math.min(2 * this.#size, (this.#size * targetMs) / tookMs);
		this.#size = Math.max(
			this.#min,
			Math.min(this.#max, Math.ceil(fitting < this.#size ? fitting : (this.#size + fitting) / 2)),
		);
		await delay(pauseMs);
		return outcome;
	}
}
