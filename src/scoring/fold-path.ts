import { Booster, startLogOdds } from './boosting.ts';
import type { EncodedRows } from './encoded-rows.ts';
import { fitLogistic, logOddsOf } from './logistic.ts';
import { logistic, logLosses } from './measure.ts';
import { treeValues } from './tree.ts';

/** Penalties of the logistic model, from strong to weak: each fit starts where the stronger one ended. */
export const strengths = [1000, 300, 100, 30, 10, 3, 1] as const;
/** Close enough to compare models; the one that is served is fitted to the end. */
const tolerance = 1e-5;

/**
 * What models of every setting, taught by a fold's earlier rows, say of its later rows. Each is made when it is first asked
 * for, and only once: what is chosen first on some folds and then on all has most of its models in common.
 */
export class FoldPath {
	readonly #earlier: EncodedRows;
	readonly #later: EncodedRows;
	readonly #booster: Booster;
	/** By strength, in the order of `strengths`. */
	readonly #logistic: Float64Array[] = [];
	#parameters: Float64Array | undefined;
	/** Sums over the later rows, by number of trees. */
	readonly #boostingLosses: number[] = [];
	readonly #boosted: Float64Array;

	constructor(earlier: EncodedRows, later: EncodedRows, random: () => number) {
		this.#earlier = earlier;
		this.#later = later;
		this.#booster = new Booster(earlier, startLogOdds(earlier), random);
		this.#boosted = new Float64Array(later.rows).fill(startLogOdds(earlier));
	}

	/** The log-odds that the logistic model of this strength gives to the later rows. */
	logistic(strength: number): Float64Array {
		const index = (strengths as readonly number[]).indexOf(strength);
		for (const next of strengths.slice(this.#logistic.length, index + 1)) {
			const fit = fitLogistic(this.#earlier, next, { start: this.#parameters, tolerance });
			this.#parameters = fit.parameters;
			this.#logistic.push(logOddsOf(this.#later, fit.weights));
		}
		return this.#logistic[index] as Float64Array;
	}

	/** The log loss of all later rows together, with so many trees. */
	boostingLoss(trees: number): number {
		while (this.#boostingLosses.length < trees) {
			treeValues(this.#booster.grow(), this.#later, this.#boosted);
			const losses = logLosses(this.#later.labels, this.#boosted.map(logistic));
			this.#boostingLosses.push(losses.reduce((sum, loss) => sum + loss, 0));
		}
		return this.#boostingLosses[trees - 1] as number;
	}

	/** The log-odds that so many trees give to the later rows. */
	boosting(trees: number): Float64Array {
		this.boostingLoss(trees);
		const logOdds = new Float64Array(this.#later.rows).fill(startLogOdds(this.#earlier));
		for (const tree of this.#booster.trees.slice(0, trees)) treeValues(tree, this.#later, logOdds);
		return logOdds;
	}
}
