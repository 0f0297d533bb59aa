import {
	type BoostingModel,
	type LogisticModel,
	type Model,
	modelFormat,
	type PriorModel,
} from '../../../core/scoring/model/model.ts';
import { Scorer } from '../../../core/scoring/model/scorer.ts';
import { recencies } from '../../../core/scoring/rows/recency.ts';
import { seededRandom } from '../../../kit/random.ts';
import { Booster, learningRate } from '../fit/boosting.ts';
import { learnEncoding, numbersOf, prepareNumbers } from '../fit/encoding.ts';
import { fitLogistic, logOddsOf } from '../fit/logistic.ts';
import { type Dataset, inTimeOrder, rowsAt, sampledRows, valuesAt } from '../rows/dataset.ts';
import { type RecentRows, recentRows } from '../rows/recent-rows.ts';
import { choose } from './choose.ts';
import { FoldModels, strengthFor } from './fold-models.ts';
import { timeFolds } from './folds.ts';
import { countsOf, judge } from './judge.ts';
import { likelyLeaks } from './leaks.ts';
import { levelShifts, rateOf } from './level.ts';
import { topFeatures } from './top-features.ts';
import { type LevelReport, minConversions, type TrainingReport, type Verdict } from './training-report.ts';

/** Choosing and judging sample at most this many rows. The model to serve learns from all. */
const maxRowsForChoice = 20_000;

export interface TrainingOptions {
	readonly seed: number;
	/** Of the goal. Default: 0. */
	readonly horizonMs?: number;
	/** The time after a row's moment until its outcome is known. Default: the horizon. */
	readonly delayMs?: number;
	/** Called several times a second with a growing share that is done. */
	readonly onProgress?: (share: number) => void;
}

/** A model, and the report on its training. */
export interface TrainedModel {
	readonly model: Model;
	readonly report: TrainingReport;
}

/** How many models are tried is only known at the end, so each step goes this share of the way that is left. */
const shareOfStep = 0.02;

/**
 * Trains a model on a data set. All choices are made on rows later than those that a model learned from. The model is
 * then fitted to all rows, and its level set so that its mean on the latest rows is their rate. The same data and seed
 * give the same model.
 */
export function train(
	unordered: Dataset,
	{ seed, horizonMs = 0, delayMs = horizonMs, onProgress }: TrainingOptions,
): TrainedModel {
	let share = 0;
	const onStep = () => {
		share += (1 - share) * shareOfStep;
		onProgress?.(share);
	};
	const dataset = inTimeOrder(unordered, seed);
	const { features } = dataset;
	onStep();
	const counts = countsOf(dataset.labels, dataset.groups);
	const { rows, conversions, convertedRows } = counts;
	const others = new Set(dataset.groups.filter((_, row) => dataset.labels[row] === 0)).size;
	// One more row with a rate of 1 %: without data, the rate is not 0.
	const baseRate = (convertedRows + 0.01) / (rows + 1);
	const prior: PriorModel = { format: modelFormat, kind: 'prior', features, baseRate };
	const serveBaseRate = (
		verdict: Verdict,
		judged: Pick<Partial<TrainingReport>, 'choice' | 'later' | 'overlaps'> = {},
	): TrainedModel => ({
		model: prior,
		report: {
			...counts,
			baseRate,
			seed,
			kind: prior.kind,
			verdict,
			overlaps: false,
			later: undefined,
			topFeatures: [],
			leaks: [],
			levels: [],
			...judged,
		},
	});
	if (rows === 0) return serveBaseRate('no rows');
	if (Math.min(conversions, others) < minConversions) return serveBaseRate('few conversions');
	const sample = sampledRows(rows, maxRowsForChoice);
	const folds = timeFolds(rowsAt(dataset, sample), delayMs);
	if (folds.length < 2) return serveBaseRate('uneven');
	const numbers = prepareNumbers(dataset);
	const ofSample = numbersOf(numbers, (values) => valuesAt(values, sample));
	const models: FoldModels[] = [];
	for (const fold of folds) {
		onStep();
		models.push(new FoldModels(fold, ofSample, seededRandom(seed), onStep, models.at(-1)));
	}
	const choice = choose(models);
	const later = judge(models);
	onStep();
	const overlaps = folds.some((fold) => fold.overlaps);
	if (!choice.serves) return serveBaseRate('no signal', { choice, later, overlaps });

	const { encoding, encode } = learnEncoding(dataset, numbers);
	const encoded = encode(dataset, numbers);
	onStep();
	const common = { format: prior.format, features, baseRate, encoding, horizonMs, levels: [] };
	let model: LogisticModel | BoostingModel;
	let logOdds: Float64Array;
	let fit: TrainingReport['fit'];
	if (choice.kind === 'logistic') {
		const { weights, converged, steps } = fitLogistic(encoded, strengthFor(dataset));
		fit = { steps, converged };
		logOdds = logOddsOf(encoded, weights);
		model = { ...common, kind: 'logistic', weights };
	} else {
		// Each tree weighs half as much as those that were compared, and so does what chance draws for it.
		const booster = new Booster(encoded, seededRandom(seed), learningRate / 2);
		while (booster.trees.length < 2 * choice.trees) {
			booster.grow();
			onStep();
		}
		logOdds = booster.logOdds;
		model = { ...common, kind: 'boosting', startLogOdds: booster.start, trees: booster.trees };
	}
	onStep();
	const recent = recentRows(dataset);
	const levels = levelShifts(recent, logOdds, dataset);
	onStep();
	return {
		model: { ...model, levels },
		report: {
			...counts,
			baseRate,
			seed,
			kind: model.kind,
			verdict: 'served',
			choice,
			...(fit && { fit }),
			overlaps,
			later,
			levels: levelReports(dataset, recent),
			topFeatures: topFeatures(new Scorer(model), dataset),
			leaks: likelyLeaks(dataset),
		},
	};
}

function levelReports({ labels, atMs }: Dataset, recent: RecentRows): LevelReport[] {
	return recencies.flatMap((recency) => {
		const places = recent[recency] ?? new Uint32Array();
		if (places.length === 0) return [];
		const since = new Date(atMs[places[0] as number] as number).toISOString();
		return [{ recency, rate: rateOf(valuesAt(labels, places)), rows: places.length, since }];
	});
}
