import { Booster, startLogOdds } from './boosting.ts';
import type { Calibration } from './calibrate.ts';
import { prepareFold } from './candidates.ts';
import { type Choice, choose } from './choose.ts';
import { type Dataset, datasetRows } from './dataset.ts';
import { type EncodedRows, encodeRows } from './encoded-rows.ts';
import { type Encoding, fitEncoding } from './encoding.ts';
import { downsample, timeFolds } from './folds.ts';
import { judge } from './judge.ts';
import { levelLines, recentRows } from './level.ts';
import { fitLogistic, type LogisticFit } from './logistic.ts';
import { type BoostingModel, type LogisticModel, type Model, modelFormat, type PriorModel } from './model.ts';
import { seededRandom } from './random.ts';
import type { LaterMeasures, TrainingReport } from './report.ts';
import {
	baseRateSentence,
	kindSentence,
	levelSentence,
	noSignalSentence,
	shapeSentence,
	signalSentence,
} from './report-text.ts';
import { Scorer } from './scorer.ts';
import { topFeatures } from './top-features.ts';
import type { Tree } from './tree.ts';

/** Goals with fewer conversions get the base rate, because nothing finer could be verified. */
export const minConversions = 30;
/** Choosing and judging sample at most this many rows. The model to serve learns from all. */
const maxRowsForChoice = 40_000;

export interface TrainingOptions {
	readonly seed: number;
	/** The time after a row's moment until its outcome is known. Default: 0. */
	readonly horizonMs?: number;
	/** The measured base rates by recency, served where the model cannot tell visitors apart. See `BaseRate`. */
	readonly baseRates?: readonly number[] | undefined;
}

/**
 * Trains a model on a data set. All choices are made on rows later than those that a model learned from. The model is
 * then fitted to all rows, and its level set so that its mean on the latest rows is their rate. The same data and seed
 * give the same model.
 */
export function train(
	dataset: Dataset,
	{ seed, horizonMs = 0, baseRates }: TrainingOptions,
): { model: Model; report: TrainingReport } {
	const { rows, conversions } = dataset;
	const prior: PriorModel = {
		format: modelFormat,
		kind: 'prior',
		features: dataset.features,
		// One more row with a rate of 1 %: without data, the rate is not 0.
		baseRate: (conversions + 0.01) / (rows + 1),
	};
	const order = dataset.inTimeOrder(seed);
	const common = { rows, conversions, baseRate: prior.baseRate, seed };
	const serveBaseRate = (reason: string, later?: LaterMeasures) => ({
		model: prior,
		report: {
			...common,
			kind: prior.kind,
			chosen: [baseRateSentence(prior.baseRate, baseRates, dataset.timed(order))],
			warnings: [reason],
			later,
			topFeatures: [],
		},
	});
	const rarer = Math.min(conversions, rows - conversions);
	if (rarer < minConversions)
		return serveBaseRate(
			`There are ${rarer} rows ${rarer === conversions ? 'with' : 'without'} a conversion; a model needs ${minConversions}.`,
		);
	const timeFoldsFound = timeFolds(dataset, downsample(order, maxRowsForChoice), horizonMs);
	const folds = timeFoldsFound.map((fold) => prepareFold(dataset, fold, seededRandom(seed)));
	if (folds.length < 2)
		return serveBaseRate('Conversions are spread too unevenly over time to judge a model on later rows.');

	const random = seededRandom(seed);
	const choice = choose(folds, random);
	if (choice.slopes.every((slope) => slope <= 0))
		return serveBaseRate(noSignalSentence(choice), judge(dataset, timeFoldsFound, folds, random));

	const encoding = fitEncoding(dataset, order);
	const encoded = encodeRows(dataset, order, encoding, true);
	const fitted = fit(encoded, choice, random);
	const uncalibrated = toModel(prior, encoding, fitted, { kind: 'none' });
	const timed = dataset.timed(order);
	const recent = recentRows(timed, order.length);
	const lines = levelLines(
		recent,
		logOddsOfRows(uncalibrated, dataset, order),
		timed.labels,
		choice.slopes,
		baseRates,
	);
	const model = toModel(prior, encoding, fitted, { kind: 'by recency', horizonMs, lines });
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
			...common,
			kind: model.kind,
			chosen: [
				kindSentence(choice, fitted.logistic),
				shapeSentence(choice),
				signalSentence(choice),
				levelSentence(timed, recent, lines),
			],
			warnings,
			later: judge(dataset, timeFoldsFound, folds, random),
			topFeatures: topFeatures(model, dataset, order),
		},
	};
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

function toModel(
	{ format, features, baseRate }: PriorModel,
	encoding: Encoding,
	fitted: Fitted,
	calibration: Calibration,
): LogisticModel | BoostingModel {
	const base = { format, features, baseRate, encoding, calibration };
	return fitted.logistic
		? { ...base, kind: 'logistic', weights: fitted.logistic.weights }
		: { ...base, kind: 'boosting', ...(fitted.boosting as NonNullable<Fitted['boosting']>) };
}

/** The log-odds of rows. */
function logOddsOfRows(model: Model, dataset: Dataset, rows: Uint32Array): Float64Array {
	const scorer = new Scorer(model);
	return Float64Array.from(datasetRows(dataset, rows), (row) => scorer.logOdds(row));
}
