import { seededRandom } from '../../src/kit/random.ts';

/** Draws that a seed repeats. */
export class Chance {
	readonly #next: () => number;

	constructor(seed: number) {
		this.#next = seededRandom(seed);
	}

	/** Whether something of this probability happens. */
	is(probability: number): boolean {
		return this.#next() < probability;
	}

	/** A whole number below another. */
	below(count: number): number {
		return Math.floor(this.#next() * count);
	}

	/** A number from one, inclusive, to another, exclusive. */
	between(low: number, high: number): number {
		return low + this.#next() * (high - low);
	}

	pick<Item>(items: readonly Item[]): Item {
		return items[this.below(items.length)] as Item;
	}
}
