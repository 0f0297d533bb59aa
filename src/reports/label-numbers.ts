/** Numbers texts in the order of their coming, so that millions of them can be kept as numbers. */
export class LabelNumbers {
	readonly names: string[] = [];
	readonly #numbers = new Map<string, number>();

	numberOf(label: string): number {
		const number = this.#numbers.getOrInsert(label, this.names.length);
		if (number === this.names.length) this.names.push(label);
		return number;
	}
}
