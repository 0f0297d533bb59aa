import type { LabelNumbers } from './label-numbers.ts';

/** How many came, and how often. */
export interface Visited {
	readonly visitors: number;
	readonly visits: number;
}

const end = -1;

/** The arrivals of all visitors in a period, by label. There may be millions: they are numbers in lists. */
export class Visits {
	readonly labels: LabelNumbers;
	readonly #steps: number[] = [];
	readonly #atMs: number[] = [];

	constructor(labels: LabelNumbers) {
		this.labels = labels;
	}

	/** Adds the visitor's next arrival, in order of time. */
	add(label: number, atMs: number): void {
		this.#atMs.push(atMs);
		this.#steps.push(label);
	}

	/** Ends the visitor. */
	end(): void {
		if (this.#steps.length > 0 && this.#steps.at(-1) !== end) this.add(end, 0);
	}

	/** When the first of all was. */
	get firstMs(): number {
		let firstMs = Number.POSITIVE_INFINITY;
		for (let step = 0; step < this.#steps.length; step++)
			if (this.#steps[step] !== end) firstMs = Math.min(firstMs, this.#atMs[step] as number);
		return firstMs;
	}

	/** How often each label occurs. */
	counts(): Map<string, number> {
		const counts = new Float64Array(this.labels.names.length);
		for (const label of this.#steps) if (label !== end) (counts[label] as number)++;
		return new Map(this.labels.names.map((name, label) => [name, counts[label] as number]));
	}

	/**
	 * Counts visits and distinct visitors for each part of the period and each number of a label; the last number is for all.
	 * @param startsMs of the parts, in order; the first is before everything
	 */
	count(numberOf: (label: string) => number, labels: number, startsMs: readonly number[]): Visited[][] {
		const numbers = this.labels.names.map(numberOf);
		const width = labels + 1;
		const [visits, visitors] = [startsMs, startsMs].map(() => new Float64Array(startsMs.length * width));
		const counted = { visits: visits as Float64Array, visitors: visitors as Float64Array };
		let seen = new Set<number>();
		let part = 0;
		const add = (place: number) => {
			(counted.visits[place] as number)++;
			if (!seen.has(place)) (counted.visitors[place] as number)++;
			seen.add(place);
		};
		for (let step = 0; step < this.#steps.length; step++) {
			const label = this.#steps[step] as number;
			if (label === end) {
				seen = new Set();
				part = 0;
				continue;
			}
			while ((startsMs[part + 1] ?? Number.POSITIVE_INFINITY) <= (this.#atMs[step] as number)) part++;
			add(part * width + (numbers[label] as number));
			add(part * width + labels);
		}
		return startsMs.map((_, row) =>
			Array.from({ length: width }, (_, label) => ({
				visitors: counted.visitors[row * width + label] as number,
				visits: counted.visits[row * width + label] as number,
			})),
		);
	}
}
