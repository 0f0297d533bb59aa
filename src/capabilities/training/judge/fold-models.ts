import { logistic, logOddsOfProbability } from '../../../core/scoring/model/log-odds.ts';
import { Booster } from '../fit/boosting.ts';
import { type EncodedRows, learnEncoding, numbersOf, type PreparedNumbers } from '../fit/encoding.ts';
import { fitLogistic, type LogisticFit, logOddsOf } from '../fit/logistic.ts';
import { logLosses } from '../fit/measure.ts';
import { treeValues } from '../fit/tree.ts';
import { type Dataset, valuesAt } from '../rows/dataset.ts';
import type { Fold } from './folds.ts';
import { levelShifts, rateOf } from './level.ts';

/** Of the logistic model's penalty, for each row that a visitor has on average. */
const strength = 10;
/** Sufficient to compare models; the model to serve is fitted to full convergence. */
const tolerance = 1e-4;

/** The predictions of one model for the judged rows. */
export interface Trial {
	/** The log-odds before the level. */
	readonly logOdds: Float64Array;
	/** The probabilities at the level of the latest known outcomes, as they would have been served. */
	readonly served: Float64Array;
	readonly losses: Float64Array;
}

/** The penalty of the logistic model: rows of a visitor prove together no more than one does. */
export function strengthFor({ rows, groups }: Pick<Dataset, 'rows' | 'groups'>): number {
	return (strength * rows) / new Set(groups).size;
}

/** The models of a fold's earlier rows. Each is made when first needed, and kept. */
export class FoldModels {
	readonly judged: Dataset;
	readonly overlaps: boolean;
	/** The base rate of the judged rows: that of the latest known outcomes of the same recency. */
	readonly base: Float64Array;
	readonly baseLosses: Float64Array;
	readonly #fold: Fold;
	readonly #earlier: EncodedRows;
	readonly #span: EncodedRows;
	readonly #booster: Booster;
	/** The span's log-odds by the trees grown so far. */
	readonly #grown: Float64Array;
	/** By the number of trees; 0 is the logistic model. */
	readonly #trials = new Map<number, Trial>();
	readonly #before: FoldModels | undefined;
	readonly #onStep: () => void;
	#fit: LogisticFit | undefined;

	/**
	 * @param numbers those of all rows
	 * @param before those of the fold before
	 */
	constructor(
		fold: Fold,
		numbers: PreparedNumbers,
		random: () => number,
		onStep: () => void,
		before?: FoldModels,
	) {
		const { earlier, earlierAt, span, spanAt, judged, recent } = fold;
		const ofEarlier = numbersOf(numbers, (values) => valuesAt(values, earlierAt));
		const { encode } = learnEncoding(earlier, ofEarlier);
		this.#fold = fold;
		this.#before = before;
		this.#onStep = onStep;
		this.#earlier = encode(earlier, ofEarlier);
		this.#span = encode(
			span,
			numbersOf(numbers, (values) => valuesAt(values, spanAt)),
		);
		this.#booster = new Booster(this.#earlier, random);
		this.#grown = new Float64Array(span.rows).fill(this.#booster.start);
		this.judged = judged;
		this.overlaps = fold.overlaps;
		const rates = recent.map((places) =>
			logistic(logOddsOfProbability(rateOf(places.map((place) => span.labels[place] as number)))),
		);
		this.base = Float64Array.from(judged.recency, (recency) => rates[recency] as number);
		this.baseLosses = logLosses(judged.labels, this.base);
	}

	get #logisticFit(): LogisticFit {
		const before = this.#before;
		const from = before ? before.#logisticFit : undefined;
		this.#fit ??= fitLogistic(this.#earlier, strengthFor(this.#fold.earlier), { tolerance, from });
		return this.#fit;
	}

	logistic(): Trial {
		return this.#trials.getOrInsertComputed(0, () =>
			this.#trial(logOddsOf(this.#span, this.#logisticFit.weights)),
		);
	}

	/** @param trees not fewer than in earlier calls, or as many as in one of them */
	boosting(trees: number): Trial {
		return this.#trials.getOrInsertComputed(trees, () => {
			while (this.#booster.trees.length < trees) treeValues(this.#booster.grow(), this.#span, this.#grown);
			return this.#trial(this.#grown);
		});
	}

	#trial(ofSpan: Float64Array): Trial {
		this.#onStep();
		const { span, judged, recent } = this.#fold;
		const shifts = levelShifts(recent, ofSpan, span);
		const logOdds = ofSpan.slice(span.rows - judged.rows);
		const served = logOdds.map((value, row) =>
			logistic(value + (shifts[judged.recency[row] as number] as number)),
		);
		return { logOdds, served, losses: logLosses(judged.labels, served) };
	}
}
