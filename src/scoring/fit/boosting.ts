import type { EncodedRows } from './encoded-rows.ts';
import { logistic, logOddsOfProbability, mean } from './measure.ts';
import { growTree, type Tree, treeValues } from './tree.ts';

const learningRate = 0.05;
/** Each tree is grown from a new sample of at most this many rows. */
const maxRowsPerTree = 100_000;

/** Gradient boosting of trees on the log loss, one tree at a time, starting from the same log-odds for every row. */
export class Booster {
	readonly trees: Tree[] = [];
	readonly #rows: EncodedRows;
	readonly #logOdds: Float64Array;
	readonly #random: () => number;

	constructor(rows: EncodedRows, startLogOdds: number, random: () => number) {
		this.#rows = rows;
		this.#logOdds = new Float64Array(rows.rows).fill(startLogOdds);
		this.#random = random;
	}

	grow(): Tree {
		const { labels, rows } = this.#rows;
		const taken = this.#draw();
		const gradients = new Float64Array(rows);
		const curvatures = new Float64Array(rows);
		for (const row of taken) {
			const rate = logistic(this.#logOdds[row] as number);
			gradients[row] = rate - (labels[row] as number);
			curvatures[row] = rate * (1 - rate);
		}
		const tree = growTree(this.#rows, taken, gradients, curvatures, learningRate);
		treeValues(tree, this.#rows, this.#logOdds);
		this.trees.push(tree);
		return tree;
	}

	#draw(): Uint32Array {
		const { rows } = this.#rows;
		const share = maxRowsPerTree / rows;
		const all = Uint32Array.from({ length: rows }, (_, row) => row);
		return share >= 1 ? all : all.filter(() => this.#random() < share);
	}
}

/** The log-odds at which boosting starts: those of the base rate. */
export function startLogOdds(rows: EncodedRows): number {
	return logOddsOfProbability(mean(rows.labels));
}
