import { type EncodedRows, encodeRows } from '../fit/encoded-rows.ts';
import { fitEncoding } from '../fit/encoding.ts';
import { FoldPath, strengths } from '../fit/fold-path.ts';
import { logistic, logLosses, logOddsOfProbability, mean } from '../fit/measure.ts';
import { without } from '../rows/ablation.ts';
import type { Dataset } from '../rows/dataset.ts';
import type { Fold } from './folds.ts';
import { levelShifts, rateOf, type TimedRows } from './level.ts';

/** Tree counts are tried in steps of this size. */
const treesPerStep = 10;
const maxTrees = 400;
/** The search ends when this many steps, or weaker penalties, in a row have not made later rows more likely. */
const patienceSteps = 3;
const patienceStrengths = 2;

/** A fold, encoded by what its earlier rows show. */
export interface PreparedFold extends Pick<Fold, 'judgedFrom' | 'recent' | 'overlaps'> {
	readonly earlier: EncodedRows;
	/** The judged rows, preceded by those that set their level. */
	readonly span: TimedRows;
	readonly judged: TimedRows;
	/** The predictions for the span of models trained on the earlier rows. */
	readonly path: FoldPath;
}

/** A setting, and its models' predictions for each fold's span. */
export interface Candidate {
	readonly setting: number;
	/** Of each judged row, fold after fold. */
	readonly losses: Float64Array;
	readonly logLoss: number;
	readonly logOdds: readonly Float64Array[];
}

export function prepareFold(dataset: Dataset, fold: Fold, random: () => number): PreparedFold {
	const encoding = fitEncoding(dataset, fold.earlier);
	const earlier = encodeRows(dataset, fold.earlier, encoding, true);
	const span = encodeRows(dataset, fold.span, encoding, false);
	return {
		...{ earlier, span: dataset.timed(fold.span) },
		judged: dataset.timed(fold.span.subarray(fold.judgedFrom)),
		...{ judgedFrom: fold.judgedFrom, recent: fold.recent, overlaps: fold.overlaps },
		path: new FoldPath(earlier, span, random),
	};
}

/** The log-odds of the judged rows as they would have been served: at the level of the latest known outcomes. */
export function servedLogOdds(
	{ span, judged, judgedFrom, recent }: PreparedFold,
	logOdds: Float64Array,
): Float64Array {
	const shifts = levelShifts(recent, logOdds, span);
	return logOdds
		.subarray(judgedFrom)
		.map((value, row) => value + (shifts[judged.recency[row] as number] as number));
}

/** The log-odds of the base rate for the judged rows: the rate of the latest known outcomes of the same recency. */
export function baseLogOdds({ span, judged, recent }: PreparedFold): Float64Array {
	const ofRate = (places: Uint32Array) =>
		logOddsOfProbability(rateOf(Uint8Array.from(places, (place) => span.labels[place] as number)));
	const rates = recent.map(ofRate);
	return Float64Array.from(judged.recency, (recency) => rates[recency] as number);
}

/** The log loss of every judged row, fold after fold. */
export function laterLosses(
	folds: readonly PreparedFold[],
	served: (fold: PreparedFold, index: number) => Float64Array,
): Float64Array<ArrayBuffer> {
	return joined(folds.map((fold, index) => logLosses(fold.judged.labels, served(fold, index).map(logistic))));
}

export function joined(parts: readonly Float64Array[]): Float64Array<ArrayBuffer> {
	return Float64Array.from(parts.flatMap((part) => Array.from(part)));
}

/** The logistic model whose penalty makes later rows most likely. */
export function bestStrength(folds: readonly PreparedFold[]): Candidate {
	return best(folds, without.has('penalty') ? [1] : strengths, patienceStrengths, (path, strength) =>
		path.logistic(strength),
	);
}

/** Boosting with the number of trees that makes later rows most likely. */
export function bestTreeCount(folds: readonly PreparedFold[]): Candidate {
	const counts = Array.from({ length: maxTrees / treesPerStep }, (_, step) => (step + 1) * treesPerStep);
	return best(folds, counts, patienceSteps, (path, trees) => path.boosting(trees));
}

function best(
	folds: readonly PreparedFold[],
	settings: readonly number[],
	patience: number,
	predict: (path: FoldPath, setting: number) => Float64Array,
): Candidate {
	let found: Candidate | undefined;
	let worse = 0;
	for (const setting of settings) {
		const logOdds = folds.map(({ path }) => predict(path, setting));
		const losses = laterLosses(folds, (fold, index) => servedLogOdds(fold, logOdds[index] as Float64Array));
		const logLoss = mean(losses);
		if (!found || logLoss < found.logLoss) {
			found = { setting, losses, logLoss, logOdds };
			worse = 0;
		} else if (++worse === patience) break;
	}
	return found as Candidate;
}
