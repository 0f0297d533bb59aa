import { logistic, logOddsOfProbability } from '../../../core/scoring/model/log-odds.ts';
import type { Tree } from '../../../core/scoring/model/model.ts';
import type { EncodedRows } from './encoding.ts';
import { mean } from './measure.ts';
import { growTree, treeValues } from './tree.ts';

/** Of the trees that models are compared by. */
export const learningRate = 0.1;
/** Each tree is grown from a new sample of rows, and of columns. */
const maxRowsPerTree = 20_000;
const shareOfColumns = 0.8;

/** Gradient boosting of trees on the log loss, one tree at a time, starting from the base rate. */
export class Booster {
	/** The log-odds of every row before the first tree. */
	readonly start: number;
	readonly trees: Tree[] = [];
	/** Of every row, with the trees so far. */
	readonly logOdds: Float64Array;
	readonly #rows: EncodedRows;
	readonly #random: () => number;
	readonly #rate: number;
	/** Of the rows that a tree is grown from. */
	readonly #gradients: Float64Array;
	readonly #curvatures: Float64Array;

	/** @param rate the share of a leaf's best value that a tree adds */
	constructor(rows: EncodedRows, random: () => number, rate = learningRate) {
		this.start = logOddsOfProbability(mean(rows.labels));
		this.#rows = rows;
		this.logOdds = new Float64Array(rows.rows).fill(this.start);
		this.#random = random;
		this.#rate = rate;
		this.#gradients = new Float64Array(rows.rows);
		this.#curvatures = new Float64Array(rows.rows);
	}

	grow(): Tree {
		const { labels, rows, bins } = this.#rows;
		const taken = this.#draw(rows, Math.min(1, maxRowsPerTree / rows));
		const columns = this.#draw(bins.length, shareOfColumns);
		const [gradients, curvatures] = [this.#gradients, this.#curvatures];
		for (const row of taken) {
			const rate = logistic(this.logOdds[row] as number);
			gradients[row] = rate - (labels[row] as number);
			curvatures[row] = rate * (1 - rate);
		}
		const tree = growTree(this.#rows, taken, columns, gradients, curvatures, this.#rate);
		treeValues(tree, this.#rows, this.logOdds);
		this.trees.push(tree);
		return tree;
	}

	/** Some of the numbers below `count`; all if they are few. */
	#draw(count: number, share: number): Uint32Array {
		const drawn = new Uint32Array(count);
		let some = 0;
		for (let number = 0; number < count; number++)
			if (share >= 1 || count <= 2 || this.#random() < share) drawn[some++] = number;
		return drawn.subarray(0, some);
	}
}
