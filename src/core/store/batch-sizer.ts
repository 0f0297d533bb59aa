import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';

/** What the items of a transaction may take beside a serving process. Uploads of the account wait for it. */
const targetMs = 15;
/** Minimum pause between two transactions. Longer than a server takes to notice that the database's lock is free. */
export const pauseMs = 4;
/** How many transactions an estimate rests on. */
const remembered = 8;
/** One transaction of so many has another size: equal ones would not tell what an item costs from what they all cost. */
const otherEvery = 4;
/** The price of an item that is too cheap to be measured. */
const leastMs = 1e-6;

export interface BatchSizes {
	readonly min?: number;
	readonly initial: number;
	readonly max: number;
}

interface Sample {
	readonly items: number;
	readonly tookMs: number;
}

/**
 * Adapts the batch size of transactions to their duration, so that none delays the serving processes. A transaction costs
 * something however few items it has, above all where its database is some round trips away. Smaller batches do not save
 * that, so the items may take as long again.
 */
export class BatchSizer {
	readonly #nowMs: () => number;
	readonly #sizes: { readonly min: number; readonly max: number };
	#size: number;
	#runs = 0;
	#samples: readonly Sample[] = [];

	/** @param sizes.min where a transaction costs much, however few items it has */
	constructor({ min = 1, initial, max }: BatchSizes, nowMs: () => number = monotonicMs) {
		this.#size = initial;
		this.#sizes = { min, max };
		this.#nowMs = nowMs;
	}

	/** The size of the next batch. */
	get size(): number {
		const { min, max } = this.#sizes;
		const size = Math.max(min, Math.min(max, Math.ceil(this.#size)));
		if (this.#runs % otherEvery !== otherEvery - 1) return size;
		return size >= 2 * min ? Math.ceil(size / 2) : Math.min(max, 2 * size);
	}

	/**
	 * Runs and measures a transaction, then pauses to leave the database to others.
	 * @param itemsOf how many items it has done
	 */
	async run<Outcome>(
		transaction: () => Promise<Outcome>,
		itemsOf: (outcome: Outcome) => number,
	): Promise<Outcome> {
		const beganMs = this.#nowMs();
		const outcome = await transaction();
		const items = itemsOf(outcome);
		// The first one also opens what the others use.
		if (this.#runs++ > 0 && items > 0) this.#learn({ items, tookMs: Math.max(1, this.#nowMs() - beganMs) });
		await delay(pauseMs);
		return outcome;
	}

	#learn(sample: Sample): void {
		this.#samples = [...this.#samples, sample].slice(-remembered);
		const itemMs = itemMsOf(this.#samples);
		if (itemMs === undefined) {
			this.#size = Math.max(
				sample.items / 4,
				Math.min(2 * sample.items, (sample.items * targetMs) / sample.tookMs),
			);
			return;
		}
		const fixedMs = Math.max(0, median(this.#samples.map(({ items, tookMs }) => tookMs - items * itemMs)));
		const fittingMs = Math.max(targetMs, fixedMs);
		// Grows gradually: what larger batches cost is not known yet. A single slow transaction may be chance, or the first of many.
		const isSlow = sample.tookMs > 2 * (fixedMs + fittingMs);
		const most = isSlow ? sample.items / 2 : 2 * Math.max(...this.#samples.map(({ items }) => items));
		this.#size = Math.min(this.#sizes.max, most, fittingMs / itemMs);
	}
}

/**
 * What an item adds to the duration: the median slope between two transactions (Theil and Sen), which a few that had to
 * wait do not change.
 * @returns undefined where all had about the same size
 */
function itemMsOf(samples: readonly Sample[]): number | undefined {
	const slopes = samples.flatMap((a, index) =>
		samples.slice(index + 1).flatMap((b) => {
			const more = b.items - a.items;
			return Math.abs(more) * 4 < Math.max(a.items, b.items) ? [] : [(b.tookMs - a.tookMs) / more];
		}),
	);
	return slopes.length === 0 ? undefined : Math.max(leastMs, median(slopes));
}

function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.floor((sorted.length - 1) / 2)] as number;
}
