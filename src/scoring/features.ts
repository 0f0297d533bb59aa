import type { Recency } from './recency.ts';

/** What a numeric feature is called, and what it holds where its fact is not there. */
export interface NumericFeature {
	readonly name: string;
	/**
	 * The value of a visitor of whom the fact does not hold: 0 visits; null, which is missing, for the days since a
	 * purchase that never was. Contributions compare with it.
	 */
	readonly absent: number | null;
}

export interface CategoricalFeature {
	readonly name: string;
	/** As for numbers; most often the empty string. */
	readonly absent: string;
}

/** The features of a model, in the order in which rows give their values. */
export interface FeatureSet {
	readonly numeric: readonly NumericFeature[];
	readonly categorical: readonly CategoricalFeature[];
}

/** What is known of one visitor at one time. NaN is a number that is missing. */
export interface FeatureRow {
	readonly numeric: ArrayLike<number>;
	readonly categorical: readonly string[];
}

/** A row whose outcome is known. */
export interface Example extends FeatureRow {
	/** 1 where the goal was reached within its horizon after `atMs`. */
	readonly label: 0 | 1;
	/** As of when the row is what was known. */
	readonly atMs: number;
	/** Whose row it is. Rows of one visitor are not independent, and intervals allow for that. Default: each row alone. */
	readonly group?: string;
	/** Default: just there. */
	readonly recency?: Recency;
	/** How many visits there had been, where that is known: measures are told by it. */
	readonly visits?: number;
}

/** A feature set of numbers and texts whose absence is 0 and the empty string. */
export function featureSet(numeric: readonly string[], categorical: readonly string[]): FeatureSet {
	return {
		numeric: numeric.map((name) => ({ name, absent: 0 })),
		categorical: categorical.map((name) => ({ name, absent: '' })),
	};
}

/** The row of which nothing is known to hold. */
export function absentRow(features: FeatureSet): { numeric: number[]; categorical: string[] } {
	return {
		numeric: features.numeric.map(({ absent }) => absent ?? Number.NaN),
		categorical: features.categorical.map(({ absent }) => absent),
	};
}
