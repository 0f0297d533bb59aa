/** The path of visitors who did not subscribe, by the numbers of its labels. */
export interface LostLabels {
	readonly labels: readonly number[];
	readonly visitors: number;
}

const end = -1;

/** The paths of visitors who did not subscribe. There may be millions: they are numbers in one list. */
export class LostPaths {
	readonly #labels: string[] = [];
	readonly #numbers = new Map<string, number>();
	#steps = new Int32Array(1024);
	#length = 0;

	/** The number of a label, for `step`. */
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
		if (this.#length === this.#steps.length) {
			const steps = new Int32Array(2 * this.#length);
			steps.set(this.#steps);
			this.#steps = steps;
		}
		this.#steps[this.#length++] = label;
	}

	/** Ends the visitor's path. */
	end(): void {
		this.step(end);
	}

	/** How often each label occurs. */
	counts(): Map<string, number> {
		const counts = new Float64Array(this.#labels.length);
		for (let place = 0; place < this.#length; place++) {
			const label = this.#steps[place] as number;
			if (label !== end) (counts[label] as number)++;
		}
		return new Map(
			this.#labels.flatMap((label, number) => (counts[number] ? [[label, counts[number]]] : [])),
		);
	}

	/** The distinct paths with other numbers, in an order that only depends on these. @param numberOf gives at most 65,536 */
	labelled(numberOf: (label: string) => number): LostLabels[] {
		const numbers = this.#labels.map(numberOf);
		const visitors = new Map<string, number>();
		// A text is the quickest key of a list of numbers.
		let path = '';
		for (let place = 0; place < this.#length; place++) {
			const label = this.#steps[place] as number;
			if (label !== end) path += String.fromCharCode(numbers[label] as number);
			else {
				if (path !== '') visitors.set(path, (visitors.get(path) ?? 0) + 1);
				path = '';
			}
		}
		return [...visitors.keys()].sort().map((known) => ({
			labels: Array.from({ length: known.length }, (_, step) => known.charCodeAt(step)),
			visitors: visitors.get(known) as number,
		}));
	}
}
