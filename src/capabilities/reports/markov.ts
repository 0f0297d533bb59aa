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

	/** @param transitions has them from a place to another, the last one excluded */
	addTransitions(
		transitions: ArrayLike<number>,
		times: number,
		from = 0,
		to: number = transitions.length,
	): void {
		for (let place = from; place < to; place++)
			(this.#counts[transitions[place] as number] as number) += times;
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
		invert(matrix, labels);
		const at = (row: number, column: number) => matrix[row * labels + column] as number;
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

/**
 * Inverts I−Q in its own place (Gauss–Jordan). No row of Q adds up to more than 1 and every path ends, so I−Q is an
 * M-matrix: its pivots stay above zero, and rows need not be exchanged.
 */
function invert(matrix: Float64Array, size: number): void {
	for (let pivot = 0; pivot < size; pivot++) {
		const pivotRow = matrix.subarray(pivot * size, (pivot + 1) * size);
		const scale = 1 / (pivotRow[pivot] as number);
		pivotRow[pivot] = 1;
		for (let column = 0; column < size; column++) (pivotRow[column] as number) *= scale;
		for (let other = 0; other < size; other++) {
			const start = other * size;
			const factor = matrix[start + pivot] as number;
			if (other === pivot || factor === 0) continue;
			matrix[start + pivot] = 0;
			for (let column = 0; column < size; column++)
				(matrix[start + column] as number) -= factor * (pivotRow[column] as number);
		}
	}
}
