/** Random draws from one generator. */
export class Chance {
	readonly random: () => number;

	constructor(random: () => number) {
		this.random = random;
	}

	/** Draws whether an event with these log odds happens. */
	happens(logOdds: number): boolean {
		return this.random() < 1 / (1 + Math.exp(-logOdds));
	}

	oneOf<Item>(items: readonly Item[]): Item {
		return items[Math.floor(this.random() * items.length)] as Item;
	}

	/** Draws an item with the probability of its share. The shares add up to 1. */
	byShare<Item extends { readonly share: number }>(items: readonly Item[]): Item {
		let left = this.random();
		for (const item of items) {
			left -= item.share;
			if (left < 0) return item;
		}
		return items.at(-1) as Item;
	}

	/** Draws from the standard normal distribution. */
	normal(): number {
		return Math.sqrt(-2 * Math.log(1 - this.random())) * Math.cos(2 * Math.PI * this.random());
	}

	/** Draws a duration with this median from a log-normal distribution. */
	timeMs(medianMs: number): number {
		return medianMs * Math.exp(this.normal());
	}
}
