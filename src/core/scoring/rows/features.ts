import type { Recency } from './recency.ts';

/** A numeric feature's name, and its value if its fact is absent. */
export interface NumericFeature {
	readonly name: string;
	/**
	 * The value for a visitor without the fact: 0 visits; null (missing) for the days since a purchase that never
	 * happened. Contributions are relative to it.
	 */
	readonly absent: number | null;
}

export interface CategoricalFeature {
	readonly name: string;
	/** As for numbers; usually the empty string. */
	readonly absent: string;
}

/** A model's features, in the order of a row's values. */
export interface FeatureSet {
	readonly numeric: readonly NumericFeature[];
	readonly categorical: readonly CategoricalFeature[];
}

/** What is known about one visitor at one time. NaN is a missing number. */
export interface FeatureRow {
	readonly numeric: ArrayLike<number>;
	readonly categorical: readonly string[];
}

/** A row with a known outcome. */
export interface Example extends FeatureRow {
	/** 1 if the goal was reached within its horizon after `atMs`. */
	readonly label: 0 | 1;
	/** The moment of the row. */
	readonly atMs: number;
	/**
	 * The visitor of the row. Rows of one visitor are not independent, and intervals account for that. Default: no
	 * other row.
	 */
	readonly group?: string;
	/** Default: present. */
	readonly recency?: Recency;
	/** The number of visits so far, if known; reports show measures by it. */
	readonly visits?: number;
	/** How many hits it stands for, where only some of a visitor's are rows. Default: 1. */
	readonly hits?: number;
}

/** A feature set whose absent values are 0 and the empty string. */
export function featureSet(numeric: readonly string[], categorical: readonly string[]): FeatureSet {
	return {
		numeric: numeric.map((name) => ({ name, absent: 0 })),
		categorical: categorical.map((name) => ({ name, absent: '' })),
	};
}

/** The row in which every fact is absent. */
export function absentRow(features: FeatureSet): { numeric: number[]; categorical: string[] } {
	return {
		numeric: features.numeric.map(({ absent }) => absent ?? Number.NaN),
		categorical: features.categorical.map(({ absent }) => absent),
	};
}
