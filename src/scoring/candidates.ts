import type { Dataset } from './dataset.ts';
import { type EncodedRows, encodeRows } from './encoded-rows.ts';
import { fitEncoding } from './encoding.ts';
import { FoldPath, strengths } from './fold-path.ts';
import type { Fold, Piece } from './folds.ts';
import { type Line, levelLines } from './level.ts';
import { logistic, logLosses, mean } from './measure.ts';

/** Tree counts are tried in steps of this size. */
const treesPerStep = 10;
const maxTrees = 400;
/** The search ends when this many steps, or weaker penalties, in a row have not made later rows more likely. */
const patienceSteps = 3;
const patienceStrengths = 2;

/** A fold, encoded by what its earlier rows show. */
export interface PreparedFold {
	readonly earlier: EncodedRows;
	/** The judged rows, preceded by those that set their level. */
	readonly span: EncodedRows;
	readonly pieces: readonly Piece[];
	/** The judged rows' labels. */
	readonly labels: Uint8Array;
	readonly groups: Uint32Array;
	readonly recency: Uint8Array;
	/** See `Fold`. */
	readonly overlaps: boolean;
	/** The predictions for the span of models trained on the earlier rows. */
	readonly path: FoldPath;
}

/** A setting, and its models' predictions for each fold's span. */
export interface Candidate {
	readonly setting: number;
	readonly logLoss: number;
	readonly logOdds: readonly Float64Array[];
}

export function prepareFold(dataset: Dataset, fold: Fold, random: () => number): PreparedFold {
	const encoding = fitEncoding(dataset, fold.earlier);
	const earlier = encodeRows(dataset, fold.earlier, encoding, true);
	const span = encodeRows(dataset, fold.span, encoding, false);
	const judgedFrom = fold.pieces[0]?.from ?? span.rows;
	return {
		earlier,
		span,
		pieces: fold.pieces,
		...dataset.timed(fold.span.subarray(judgedFrom)),
		overlaps: fold.overlaps,
		path: new FoldPath(earlier, span, random),
	};
}

/** Unchanged log-odds, and those of the base rate, for every recency. */
export const asItIs = [1, 1, 1] as const;
export const baseRateAlone = [0, 0, 0] as const;

/**
 * The log-odds of the judged rows as they would have been served: the model's log-odds times a slope, at the level of
 * the latest rows of the same recency with known outcomes. A slope of 0 gives the base rate.
 */
export function servedLogOdds(
	{ span, pieces, labels, recency }: PreparedFold,
	logOdds: Float64Array,
	slopes: readonly number[],
): Float64Array<ArrayBuffer> {
	const served = new Float64Array(labels.length);
	const judgedFrom = span.rows - labels.length;
	for (const { from, to, recent } of pieces) {
		const lines = levelLines(recent, logOdds, span.labels, slopes);
		for (let row = from; row < to; row++) {
			const { slope, intercept } = lines[recency[row - judgedFrom] as number] as Line;
			served[row - judgedFrom] = slope * (logOdds[row] as number) + intercept;
		}
	}
	return served;
}

/** The log loss of every judged row as served, fold after fold. */
export function laterLosses(
	folds: readonly PreparedFold[],
	logOdds: readonly Float64Array[],
	slopes: readonly number[] = asItIs,
): Float64Array<ArrayBuffer> {
	return joined(
		folds.map((fold, index) => foldLosses(fold, servedLogOdds(fold, logOdds[index] as Float64Array, slopes))),
	);
}

/** The log loss of every judged row. */
export function foldLosses({ labels }: PreparedFold, served: Float64Array): Float64Array {
	return logLosses(labels, served.map(logistic));
}

export function joined(parts: readonly Float64Array[]): Float64Array<ArrayBuffer> {
	return Float64Array.from(parts.flatMap((part) => Array.from(part)));
}

/** The logistic model whose penalty makes later rows most likely. */
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
	let best: Candidate | undefined;
	let worse = 0;
	for (let trees = treesPerStep; trees <= maxTrees && worse < patienceSteps; trees += treesPerStep) {
		const logOdds = folds.map(({ path }) => path.boosting(trees));
		const logLoss = mean(laterLosses(folds, logOdds));
		if (!best || logLoss < best.logLoss) {
			best = { setting: trees, logLoss, logOdds };
			worse = 0;
		} else worse++;
	}
	return best as Candidate;
}
