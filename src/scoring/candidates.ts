import { Booster } from './boosting.ts';
import type { Dataset } from './dataset.ts';
import { type EncodedRows, encodeRows } from './encoded-rows.ts';
import { fitEncoding } from './encoding.ts';
import type { Fold } from './folds.ts';
import { fitLogistic, type LogisticFit, logOddsOf } from './logistic.ts';
import { logistic, logLosses, logOddsOfProbability, mean } from './measure.ts';
import { treeValues } from './tree.ts';

/** From strong to weak: each fit starts where the stronger one ended. */
const strengths = [1000, 300, 100, 30, 10, 3, 1];
const mostTrees = 400;
/** Growing ends when so many trees in a row have not made later rows more likely. */
const patienceTrees = 30;

/** A fold made ready for the models: encoded with what its earlier rows show. */
export interface PreparedFold {
	readonly earlier: EncodedRows;
	readonly later: EncodedRows;
	readonly laterGroups: Uint32Array;
	/** The base rate of the earlier rows. */
	readonly baseRate: number;
}

/** A setting, and what the models so set say of each fold's later rows. */
export interface Candidate {
	readonly setting: number;
	readonly logLoss: number;
	readonly logOdds: readonly Float64Array[];
}

export function prepareFold(dataset: Dataset, fold: Fold): PreparedFold {
	const encoding = fitEncoding(dataset, fold.earlier);
	const earlier = encodeRows(dataset, fold.earlier, encoding, true);
	return {
		earlier,
		later: encodeRows(dataset, fold.later, encoding, false),
		laterGroups: dataset.groups(fold.later),
		baseRate: mean(earlier.labels),
	};
}

/** The log loss of every later row, fold after fold. */
export function laterLosses(
	folds: readonly PreparedFold[],
	logOdds: readonly Float64Array[],
): Float64Array<ArrayBuffer> {
	const losses = folds.map(({ later }, fold) =>
		logLosses(later.labels, (logOdds[fold] as Float64Array).map(logistic)),
	);
	return Float64Array.from(losses.flatMap((values) => Array.from(values)));
}

/** The logistic model of the strength that makes later rows most likely. */
export function bestStrength(folds: readonly PreparedFold[]): Candidate {
	const starts = folds.map((): LogisticFit | undefined => undefined);
	let best: Candidate | undefined;
	for (const strength of strengths) {
		const logOdds = folds.map(({ earlier, later }, fold) => {
			const fit = fitLogistic(earlier, strength, starts[fold]?.parameters);
			starts[fold] = fit;
			return logOddsOf(later, fit.weights);
		});
		const logLoss = mean(laterLosses(folds, logOdds));
		if (!best || logLoss < best.logLoss) best = { setting: strength, logLoss, logOdds };
	}
	return best as Candidate;
}

/** Boosting with the number of trees that makes later rows most likely. */
export function bestTreeCount(folds: readonly PreparedFold[], random: () => number): Candidate {
	const boosters = folds.map(({ earlier }) => new Booster(earlier, startLogOdds(earlier), random));
	const logOdds = folds.map(({ earlier, later }) => new Float64Array(later.rows).fill(startLogOdds(earlier)));
	let best: Candidate = { setting: 0, logLoss: Number.POSITIVE_INFINITY, logOdds: [] };
	for (let trees = 1; trees <= mostTrees && trees - best.setting <= patienceTrees; trees++) {
		for (const [fold, booster] of boosters.entries())
			treeValues(booster.grow(), (folds[fold] as PreparedFold).later, logOdds[fold] as Float64Array);
		const logLoss = mean(laterLosses(folds, logOdds));
		if (logLoss < best.logLoss)
			best = { setting: trees, logLoss, logOdds: logOdds.map((values) => values.slice()) };
	}
	return best;
}

/** Where boosting starts from: the base rate. */
export function startLogOdds(rows: EncodedRows): number {
	return logOddsOfProbability(mean(rows.labels));
}
