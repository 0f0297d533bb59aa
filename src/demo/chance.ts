/** Draws from one source of random numbers. */
export class Chance {
	readonly random: () => number;

	constructor(random: () => number) {
		this.random = random;
	}

	/** Whether something happens that has these log odds. */
	happens(logOdds: number): boolean {
		return this.random() < 1 / (1 + Math.exp(-logOdds));
	}

	oneOf<Item>(items: readonly Item[]): Item {
		return items[Math.floor(this.random() * items.length)] as Item;
	}

	/** One of several, as often as its share says; the shares add up to 1. */
	byShare<Item extends { readonly share: number }>(items: readonly Item[]): Item {
		let left = this.random();
		for (const item of items) {
			left -= item.share;
			if (left < 0) return item;
		}
		return items.at(-1) as Item;
	}

	/** Of the standard normal distribution. */
	normal(): number {
		return Math.sqrt(-2 * Math.log(1 - this.random())) * Math.cos(2 * Math.PI * this.random());
	}

	/** A time of this median; now and then a multiple of it (log-normal). */
	timeMs(medianMs: number): number {
		return medianMs * Math.exp(this.normal());
	}
}
