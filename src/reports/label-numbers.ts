/** Numbers texts in the order of their coming, so that millions of them can be kept as numbers. */
export class LabelNumbers {
	readonly names: string[] = [];
	readonly #numbers = new Map<string, number>();

	numberOf(label: string): number {
		let number = this.#numbers.get(label);
		if (number === undefined) {
			number = this.names.push(label) - 1;
			this.#numbers.set(label, number);
		}
		return number;
	}
}
