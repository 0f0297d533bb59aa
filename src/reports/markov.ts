/**
 * Counts transitions between states. States are the labels of touches, from 0. A path begins at the start state, and
 * ends with the conversion, or with null if there was none.
 */
export class MarkovChain {
	readonly labels: number;
	readonly #counts: Float64Array;

	constructor(labels: number) {
		this.labels = labels;
		this.#counts = new Float64Array((labels + 1) * (labels + 2));
	}

	/** The transitions of a path, as indices of the chain's table, for `addTransitions`. */
	transitionsOf(path: readonly number[], isConverted: boolean): number[] {
		const row = (state: number) => (state + 1) * (this.labels + 2);
		let from = -1;
		const transitions = path.map((label) => {
			const transition = row(from) + label;
			from = label;
			return transition;
		});
		transitions.push(row(from) + this.labels + (isConverted ? 0 : 1));
		return transitions;
	}

	addTransitions(transitions: readonly number[], times: number): void {
		for (const transition of transitions) (this.#counts[transition] as number) += times;
	}

	addPath(path: readonly number[], isConverted: boolean, times = 1): void {
		this.addTransitions(this.transitionsOf(path, isConverted), times);
	}

	clear(): void {
		this.#counts.fill(0);
	}

	/**
	 * The share of conversions that would be lost without each label, if everybody who comes to it were lost: 1 −
	 * P₋c/P. Exact: with N = (I−Q)⁻¹, a visitor reaches c with probability N(start,c)/N(c,c), and converts from there
	 * with x(c) = Σ N(c,·)b.
	 */
	removalEffects(): Float64Array {
		const { labels } = this;
		const width = labels + 2;
		const shares = this.#counts.slice();
		for (let from = 0; from < shares.length; from += width) {
			const row = shares.subarray(from, from + width);
			const total = row.reduce((all, count) => all + count, 0);
			if (total > 0) for (let to = 0; to < width; to++) (row[to] as number) /= total;
		}
		const share = (state: number, to: number) => shares[(state + 1) * width + to] as number;
		const matrix = new Float64Array(labels * labels);
		for (let row = 0; row < labels; row++)
			for (let column = 0; column < labels; column++)
				matrix[row * labels + column] = (row === column ? 1 : 0) - share(row, column);
		const inverse = invert(matrix, labels);
		const at = (row: number, column: number) => inverse[row * labels + column] as number;
		const states = Array.from({ length: labels }, (_, label) => label);
		const direct = states.map((label) => share(label, labels));
		const converts = states.map((row) =>
			sum(states.map((column) => at(row, column) * (direct[column] ?? 0))),
		);
		const starts = states.map((label) => share(-1, label));
		const total = sum(states.map((label) => (starts[label] ?? 0) * (converts[label] ?? 0)));
		return Float64Array.from(states, (label) => {
			if (total === 0) return 0;
			const visits = sum(states.map((first) => (starts[first] ?? 0) * at(first, label)));
			return ((visits / at(label, label)) * (converts[label] ?? 0)) / total;
		});
	}
}

/** Each label's share of the credit, in proportion to its removal effect. Zeros if nobody converted. */
export function creditShares(effects: Float64Array): Float64Array {
	const total = effects.reduce((all, effect) => all + effect, 0);
	return total === 0 ? effects : effects.map((effect) => effect / total);
}

function sum(values: readonly number[]): number {
	return values.reduce((total, value) => total + value, 0);
}

/** The inverse of a square matrix, stored by rows, by Gauss–Jordan elimination with partial pivoting. */
function invert(matrix: Float64Array, size: number): Float64Array {
	const inverse = new Float64Array(size * size);
	for (let row = 0; row < size; row++) inverse[row * size + row] = 1;
	for (let column = 0; column < size; column++) {
		let pivot = column;
		for (let row = column + 1; row < size; row++)
			if (Math.abs(matrix[row * size + column] as number) > Math.abs(matrix[pivot * size + column] as number))
				pivot = row;
		if (pivot !== column)
			for (const table of [matrix, inverse])
				for (let at = 0; at < size; at++) {
					const held = table[pivot * size + at] as number;
					table[pivot * size + at] = table[column * size + at] as number;
					table[column * size + at] = held;
				}
		const scale = 1 / (matrix[column * size + column] as number);
		for (const table of [matrix, inverse])
			for (let at = 0; at < size; at++) (table[column * size + at] as number) *= scale;
		for (let row = 0; row < size; row++) {
			const factor = matrix[row * size + column] as number;
			if (row === column || factor === 0) continue;
			for (const table of [matrix, inverse])
				for (let at = 0; at < size; at++)
					(table[row * size + at] as number) -= factor * (table[column * size + at] as number);
		}
	}
	return inverse;
}
