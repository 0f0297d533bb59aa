import type { LostPath } from './journey.ts';

/** No report has so many different labels: they are part of a place in a table. */
const maxLabels = 2 ** 24;

/** Counts visitors by their paths, without a text or list for each: there may be millions. */
export class LostPaths {
	readonly #labels: string[] = [];
	readonly #numbers = new Map<string, number>();
	/** Where a path goes on from a place in the tree with a label. */
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

	/** The path of the visitor goes on. @param label see `numberOf` */
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

	/** The path of the visitor ends. */
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
