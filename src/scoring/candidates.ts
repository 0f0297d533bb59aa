import type { Dataset } from './dataset.ts';
import { type EncodedRows, encodeRows } from './encoded-rows.ts';
import { fitEncoding } from './encoding.ts';
import { FoldPath, strengths } from './fold-path.ts';
import type { Fold } from './folds.ts';
import { logistic, logLosses, mean } from './measure.ts';

const maxTrees = 400;
/** Growing ends when so many trees in a row have not made later rows more likely. */
const patienceTrees = 30;
/** Weaker penalties are not tried once so many in a row have made later rows less likely. */
const patienceStrengths = 2;

/** A fold made ready for the models: encoded with what its earlier rows show. */
export interface PreparedFold {
	readonly earlier: EncodedRows;
	readonly later: EncodedRows;
	readonly laterGroups: Uint32Array;
	/** See `Fold`. */
	readonly overlaps: boolean;
	/** The base rate of the earlier rows. */
	readonly baseRate: number;
	/** What the models that the earlier rows teach say of the later ones. */
	readonly path: FoldPath;
}

/** A setting, and what the models so set say of each fold's later rows. */
export interface Candidate {
	readonly setting: number;
	readonly logLoss: number;
	readonly logOdds: readonly Float64Array[];
}

export function prepareFold(dataset: Dataset, fold: Fold, random: () => number): PreparedFold {
	const encoding = fitEncoding(dataset, fold.earlier);
	const earlier = encodeRows(dataset, fold.earlier, encoding, true);
	const later = encodeRows(dataset, fold.later, encoding, false);
	return {
		earlier,
		later,
		laterGroups: dataset.groups(fold.later),
		overlaps: fold.overlaps,
		baseRate: mean(earlier.labels),
		path: new FoldPath(earlier, later, random),
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
	let best: Candidate | undefined;
	let worse = 0;
	for (const strength of strengths) {
		const logOdds = folds.map(({ path }) => path.logistic(strength));
		const logLoss = mean(laterLosses(folds, logOdds));
		if (!best || logLoss < best.logLoss) {
			best = { setting: strength, logLoss, logOdds };
			worse = 0;
		} else if (++worse === patienceStrengths) break;
	}
	return best as Candidate;
}

/** Boosting with the number of trees that makes later rows most likely. */
export function bestTreeCount(folds: readonly PreparedFold[]): Candidate {
	const rows = folds.reduce((sum, { later }) => sum + later.rows, 0);
	let [setting, logLoss] = [0, Number.POSITIVE_INFINITY];
	for (let trees = 1; trees <= maxTrees && trees - setting <= patienceTrees; trees++) {
		const loss = folds.reduce((sum, { path }) => sum + path.boostingLoss(trees), 0) / rows;
		if (loss < logLoss) [setting, logLoss] = [trees, loss];
	}
	return { setting, logLoss, logOdds: folds.map(({ path }) => path.boosting(setting)) };
}
