import type { LabelNumbers } from './label-numbers.ts';

/** How many came, and how often. */
export interface Came {
	readonly visitors: number;
	readonly arrivals: number;
}

const end = -1;

/** The arrivals of all visitors in a period, by label. There may be millions: they are numbers in lists. */
export class Arrivals {
	readonly labels: LabelNumbers;
	#steps = new Int32Array(1024);
	#atMs = new Float64Array(1024);
	#length = 0;

	constructor(labels: LabelNumbers) {
		this.labels = labels;
	}

	/** Adds the visitor's next arrival, in order of time. */
	add(label: number, atMs: number): void {
		if (this.#length === this.#steps.length) {
			this.#steps = new Int32Array(this.#steps.buffer.transfer(2 * this.#steps.byteLength));
			this.#atMs = new Float64Array(this.#atMs.buffer.transfer(2 * this.#atMs.byteLength));
		}
		this.#atMs[this.#length] = atMs;
		this.#steps[this.#length++] = label;
	}

	/** Ends the visitor. */
	end(): void {
		if (this.#length > 0 && this.#steps[this.#length - 1] !== end) this.add(end, 0);
	}

	/** When the first of all was. */
	get firstMs(): number {
		let firstMs = Number.POSITIVE_INFINITY;
		for (let step = 0; step < this.#length; step++)
			if (this.#steps[step] !== end) firstMs = Math.min(firstMs, this.#atMs[step] as number);
		return firstMs;
	}

	/** How often each label occurs. */
	counts(): Map<string, number> {
		return this.labels.counts(this.#steps.subarray(0, this.#length));
	}

	/**
	 * Counts arrivals and distinct visitors for each part of the period and each number of a label; the last number is for all.
	 * @param startsMs of the parts, in order; the first is before everything
	 */
	count(numberOf: (label: string) => number, labels: number, startsMs: readonly number[]): Came[][] {
		const numbers = this.labels.names.map(numberOf);
		const counted = startsMs.map(() =>
			Array.from({ length: labels + 1 }, () => ({ visitors: 0, arrivals: 0 })),
		);
		let seen = new Set<number>();
		let part = 0;
		const add = (label: number) => {
			const cell = counted[part]?.[label] as (typeof counted)[number][number];
			cell.arrivals++;
			const place = part * (labels + 1) + label;
			if (!seen.has(place)) cell.visitors++;
			seen.add(place);
		};
		for (let step = 0; step < this.#length; step++) {
			const label = this.#steps[step] as number;
			if (label === end) {
				seen = new Set();
				part = 0;
				continue;
			}
			while ((startsMs[part + 1] ?? Number.POSITIVE_INFINITY) <= (this.#atMs[step] as number)) part++;
			add(numbers[label] as number);
			add(labels);
		}
		return counted;
	}
}
