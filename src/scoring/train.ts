import { Booster, startLogOdds } from './boosting.ts';
import { bootstrapMean } from './bootstrap.ts';
import { calibrate, fitPlatt } from './calibrate.ts';
import { laterLosses, type PreparedFold, prepareFold } from './candidates.ts';
import { type Choice, choose, difference, laterGroups } from './choose.ts';
import type { Dataset } from './dataset.ts';
import { type EncodedRows, encodeRows } from './encoded-rows.ts';
import { type Encoding, fitEncoding } from './encoding.ts';
import { thin, timeFolds } from './folds.ts';
import { fitLogistic, type LogisticFit } from './logistic.ts';
import {
	auc,
	brierScore,
	calibrationTable,
	expectedCalibrationError,
	logistic,
	logLoss,
	logOddsOfProbability,
	rocCurve,
} from './measure.ts';
import { type BoostingModel, type LogisticModel, type Model, modelFormat, type PriorModel } from './model.ts';
import { seededRandom } from './random.ts';
import type { LaterMeasures, TrainingReport } from './report.ts';
import { calibrationSentence, kindSentence, percent } from './report-text.ts';
import { topFeatures } from './top-features.ts';
import type { Tree } from './tree.ts';

/** Goals with fewer conversions are given the base rate: nothing finer could be checked. */
export const fewestConversions = 30;
/** Choosing and judging use this many rows at most, evenly taken; the model that is served learns from all. */
const maxRowsForChoice = 60_000;

export interface TrainingOptions {
	readonly seed: number;
	/** How long after a row's time its outcome is known. Default: at once. */
	readonly horizonMs?: number;
}

/**
 * Trains a model on a data set. Everything is decided on rows that are later than those a model has learned from: what is
 * chosen on the third and fourth fifth of the time is judged on the last; then the same is chosen anew on all three, and
 * fitted to all rows. The same data and seed give the same model.
 */
export function train(
	dataset: Dataset,
	{ seed, horizonMs = 0 }: TrainingOptions,
): { model: Model; report: TrainingReport } {
	const { rows, conversions } = dataset;
	const prior: PriorModel = {
		format: modelFormat,
		kind: 'prior',
		features: dataset.features,
		// One row of a rate of 1 % more: no data is no reason to say 0.
		baseRate: (conversions + 0.01) / (rows + 1),
	};
	const told = { rows, conversions, baseRate: prior.baseRate, seed };
	const serveBaseRate = (reason: string, later?: LaterMeasures) => ({
		model: prior,
		report: {
			...told,
			kind: prior.kind,
			chosen: [`Everybody is given the base rate, ${percent(prior.baseRate)}.`],
			warnings: [reason],
			later,
			topFeatures: [],
		},
	});
	const rarer = Math.min(conversions, rows - conversions);
	if (rarer < fewestConversions)
		return serveBaseRate(
			`There are ${rarer} rows ${rarer === conversions ? 'with' : 'without'} a conversion; a model needs ${fewestConversions}.`,
		);
	const order = dataset.inTimeOrder(seededRandom(seed));
	const timeFoldsFound = timeFolds(dataset, thin(order, maxRowsForChoice), horizonMs);
	const folds = timeFoldsFound.map((fold) => prepareFold(dataset, fold, seededRandom(seed)));
	const judging = folds[folds.length - 1];
	if (!judging || folds.length < 2)
		return serveBaseRate('Conversions are spread too unevenly over time to judge a model on later rows.');

	const judged = judge(folds.slice(0, -1), judging, seededRandom(seed));
	if (judged.gainOverBaseRate.low <= 0)
		return serveBaseRate(
			`On later rows the model is no better than the base rate (95 % interval of the gain in log loss ${interval(judged.gainOverBaseRate)}).`,
			judged.measures,
		);

	const random = seededRandom(seed);
	const choice = choose(folds, random);
	const encoding = fitEncoding(dataset, order);
	const encoded = encodeRows(dataset, order, encoding, true);
	const fitted = fit(encoded, choice, random);
	const model = toModel(prior, encoding, fitted, choice);
	const warnings = [];
	if (timeFoldsFound.some(({ overlaps }) => overlaps))
		warnings.push(
			'Some outcomes that models learned from were not known yet when the rows that judge them began.',
		);
	if (fitted.logistic && !fitted.logistic.converged)
		warnings.push(
			`The fit stopped short of the optimum (gradient ${fitted.logistic.gradient.toExponential(1)}).`,
		);
	return {
		model,
		report: {
			...told,
			kind: model.kind,
			chosen: [kindSentence(choice, fitted.logistic), calibrationSentence(choice)],
			warnings,
			later: judged.measures,
			topFeatures: topFeatures(model, dataset, order),
		},
	};
}

function interval({ low, high }: { low: number; high: number }): string {
	return `${low.toFixed(4)} to ${high.toFixed(4)}`;
}

interface Fitted {
	readonly logistic?: LogisticFit;
	readonly boosting?: { readonly startLogOdds: number; readonly trees: readonly Tree[] };
}

function fit(rows: EncodedRows, choice: Choice, random: () => number): Fitted {
	if (choice.kind === 'logistic') return { logistic: fitLogistic(rows, choice.strength) };
	const start = startLogOdds(rows);
	const booster = new Booster(rows, start, random);
	while (booster.trees.length < choice.trees) booster.grow();
	return { boosting: { startLogOdds: start, trees: booster.trees } };
}

function toModel(prior: PriorModel, encoding: Encoding, fitted: Fitted, choice: Choice): Model {
	const { format, features, baseRate } = prior;
	const base = { format, features, baseRate, encoding, calibration: choice.calibration };
	if (fitted.logistic)
		return { ...base, kind: 'logistic', weights: fitted.logistic.weights } satisfies LogisticModel;
	if (fitted.boosting) return { ...base, kind: 'boosting', ...fitted.boosting } satisfies BoostingModel;
	return prior;
}

/** Chooses on some folds, and measures what was chosen on a fold that is later than all of them. */
function judge(
	choosing: readonly PreparedFold[],
	judging: PreparedFold,
	random: () => number,
): { measures: LaterMeasures; gainOverBaseRate: { low: number; high: number } } {
	const choice = choose(choosing, random);
	const { later, baseRate, path } = judging;
	const raw = choice.kind === 'logistic' ? path.logistic(choice.strength) : path.boosting(choice.trees);
	const calibrated = raw.map((value) => calibrate(choice.calibration, value));
	const scores = calibrated.map(logistic);
	const folds = [...choosing, judging];
	const constant = folds.map((fold) =>
		new Float64Array(fold.later.rows).fill(logOddsOfProbability(fold.baseRate)),
	);
	const gains = difference(laterLosses(folds, constant), laterLosses(folds, [...choice.logOdds, calibrated]));
	const table = calibrationTable(later.labels, scores);
	const scoreHistogram = new Array<number>(20).fill(0);
	for (const score of scores) (scoreHistogram[Math.min(19, Math.floor(score * 20))] as number)++;
	return {
		gainOverBaseRate: bootstrapMean(gains, laterGroups(folds), random),
		measures: {
			rows: later.rows,
			conversions: later.labels.reduce((sum, label) => sum + label, 0),
			auc: auc(later.labels, scores, judging.laterGroups),
			logLoss: logLoss(later.labels, scores),
			baseRateLogLoss: logLoss(later.labels, new Float64Array(later.rows).fill(baseRate)),
			brier: brierScore(later.labels, scores),
			expectedCalibrationError: expectedCalibrationError(table),
			calibrationTable: table,
			calibrationSlope: fitPlatt(later.labels, calibrated).slope,
			roc: rocCurve(later.labels, scores),
			scoreHistogram,
		},
	};
}
