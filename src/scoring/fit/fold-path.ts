import { Booster, startLogOdds } from './boosting.ts';
import type { EncodedRows } from './encoded-rows.ts';
import { fitLogistic, logOddsOf } from './logistic.ts';
import { treeValues } from './tree.ts';

/** Penalties of the logistic model, from strong to weak. Each fit starts where the stronger one ended. */
export const strengths = [30_000, 10_000, 3000, 1000, 300, 100, 30, 10, 3, 1] as const;
/** Sufficient to compare models; the model to serve is fitted to full convergence. */
const tolerance = 1e-5;

/**
 * The predictions for a fold's span of all models trained on its earlier rows. Each is computed when first needed and
 * kept: choosing on some folds and then on all uses mostly the same models.
 */
export class FoldPath {
	readonly #earlier: EncodedRows;
	readonly #span: EncodedRows;
	readonly #booster: Booster;
	/** By strength, in the order of `strengths`. */
	readonly #logistic: Float64Array[] = [];
	#parameters: Float64Array | undefined;
	/** By number of trees. */
	readonly #boosted = new Map<number, Float64Array>();
	readonly #growing: Float64Array;

	constructor(earlier: EncodedRows, span: EncodedRows, random: () => number) {
		this.#earlier = earlier;
		this.#span = span;
		this.#booster = new Booster(earlier, startLogOdds(earlier), random);
		this.#growing = new Float64Array(span.rows).fill(startLogOdds(earlier));
	}

	/** The span's log-odds by the logistic model of this strength. */
	logistic(strength: number): Float64Array {
		const index = (strengths as readonly number[]).indexOf(strength);
		for (const next of strengths.slice(this.#logistic.length, index + 1)) {
			const fit = fitLogistic(this.#earlier, next, { start: this.#parameters, tolerance });
			this.#parameters = fit.parameters;
			this.#logistic.push(logOddsOf(this.#span, fit.weights));
		}
		return this.#logistic[index] as Float64Array;
	}

	/** The span's log-odds by this many trees. Call with increasing numbers. */
	boosting(trees: number): Float64Array {
		const known = this.#boosted.get(trees);
		if (known) return known;
		while (this.#booster.trees.length < trees) treeValues(this.#booster.grow(), this.#span, this.#growing);
		const logOdds = this.#growing.slice();
		this.#boosted.set(trees, logOdds);
		return logOdds;
	}
}
