import type { FeatureSet } from '../rows/features.ts';

/** To be raised when this version can no longer read models of earlier ones unchanged. */
export const modelFormat = 4;

/** A trained model: plain data that JSON preserves. `Scorer` applies it. */
export type Model = PriorModel | LogisticModel | BoostingModel;

export const liftMethods = ['two models', 'transformed outcome'] as const;
export type LiftMethod = (typeof liftMethods)[number];

/** Says by how much being treated raises a visitor's probability. */
export interface LiftModel extends ModelBase {
	readonly kind: 'lift';
	readonly method: LiftMethod;
	/** Two models: of the treated, and of those held out. Transformed outcome: one whose log-odds are the lift itself. */
	readonly parts: readonly LogisticModel[];
}

interface ModelBase {
	readonly format: typeof modelFormat;
	readonly features: FeatureSet;
	/** The shrunken rate of the training rows, which is served when nothing better is known; of a lift, that of all. */
	readonly baseRate: number;
}

/** Gives every visitor the base rate. */
export interface PriorModel extends ModelBase {
	readonly kind: 'prior';
}

interface FittedModel extends ModelBase {
	readonly encoding: Encoding;
	/** The goal's horizon, by which recencies are told apart. */
	readonly horizonMs: number;
	/** By recency, what is added to the log-odds. */
	readonly levels: readonly number[];
}

export interface LogisticModel extends FittedModel {
	readonly kind: 'logistic';
	readonly weights: LogisticWeights;
}

export interface BoostingModel extends FittedModel {
	readonly kind: 'boosting';
	readonly startLogOdds: number;
	readonly trees: readonly Tree[];
}

/** How a number becomes model inputs. Plain data, part of a stored model. */
export interface NumericEncoding {
	readonly name: string;
	/** The mean of sign(x)·log1p|x|. */
	readonly mean: number;
	readonly scale: number;
	/** The range of the training rows. Numbers beyond it count as its ends, so that no line extrapolates. */
	readonly lowest: number;
	readonly highest: number;
	readonly cuts: readonly number[];
}

/** How a text becomes a number: by the rate of its visitors. */
export interface CategoricalEncoding {
	readonly name: string;
	/**
	 * The shrunken rate's log-odds minus the base rate's, most frequent texts first; where targets were learned, their
	 * shrunken mean minus that of all. Other texts get 0.
	 */
	readonly rates: readonly (readonly [text: string, rate: number])[];
	readonly cuts: readonly number[];
}

export interface Encoding {
	readonly numeric: readonly NumericEncoding[];
	readonly categorical: readonly CategoricalEncoding[];
}

/** Weights of encoded rows: an intercept, and for each column one of its number and one where that is missing. */
export interface LogisticWeights {
	readonly intercept: number;
	readonly linear: readonly number[];
	readonly missing: readonly number[];
}

/**
 * A tree as arrays with an entry for each node; node 0 is the root. A row goes left if its fine bin of `column` is at
 * most `bin`, so a missing value, bin 0, goes left. `column` is -1 in a leaf, and `value` is what the leaf adds.
 */
export interface Tree {
	readonly column: number[];
	readonly bin: number[];
	readonly left: number[];
	readonly right: number[];
	readonly value: number[];
}
