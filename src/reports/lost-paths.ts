import type { LostPath } from './journey.ts';

/** No report has more labels. A label is part of a table index. */
const maxLabels = 2 ** 24;

/** Counts visitors by their paths in a tree, without a text or list for each, because there may be millions. */
export class LostPaths {
	readonly #labels: string[] = [];
	readonly #numbers = new Map<string, number>();
	/** The next node of the tree, by node and label. */
	readonly #next = new Map<number, number>();
	readonly #parents: number[] = [-1];
	readonly #visitors: number[] = [0];
	#at = 0;

	numberOf(label: string): number {
		let number = this.#numbers.get(label);
		if (number === undefined) {
			number = this.#labels.push(label) - 1;
			this.#numbers.set(label, number);
		}
		return number;
	}

	/** Adds a step to the visitor's path. @param label see `numberOf` */
	step(label: number): void {
		const key = this.#at * maxLabels + label;
		let next = this.#next.get(key);
		if (next === undefined) {
			next = this.#parents.push(key) - 1;
			this.#visitors.push(0);
			this.#next.set(key, next);
		}
		this.#at = next;
	}

	/** Ends the visitor's path. */
	end(): void {
		(this.#visitors[this.#at] as number)++;
		this.#at = 0;
	}

	*paths(): Generator<LostPath> {
		for (const [end, visitors] of this.#visitors.entries()) {
			if (end === 0 || visitors === 0) continue;
			const labels: string[] = [];
			for (let key = this.#parents[end] as number; key >= 0; ) {
				labels.push(this.#labels[key % maxLabels] as string);
				key = this.#parents[Math.floor(key / maxLabels)] as number;
			}
			yield { labels: labels.reverse(), visitors };
		}
	}
}
