/** Numbers texts in the order of their coming, so that millions of them can be kept as numbers. */
export class LabelNumbers {
	readonly names: string[] = [];
	readonly #numbers = new Map<string, number>();

	numberOf(label: string): number {
		const number = this.#numbers.getOrInsert(label, this.names.length);
		if (number === this.names.length) this.names.push(label);
		return number;
	}

	/** How often each label occurs in a list of numbers. Negative ones stand for ends. */
	counts(numbers: Int32Array): Map<string, number> {
		const counts = new Float64Array(this.names.length);
		for (const number of numbers) if (number >= 0) (counts[number] as number)++;
		return new Map(this.names.map((name, number) => [name, counts[number] as number]));
	}
}
