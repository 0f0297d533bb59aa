import { Booster, startLogOdds } from '../fit/boosting.ts';
import { encodeRows } from '../fit/encoded-rows.ts';
import { fitEncoding } from '../fit/encoding.ts';
import { fitLogistic } from '../fit/logistic.ts';
import {
	type BoostingModel,
	type LogisticModel,
	type Model,
	modelFormat,
	type PriorModel,
} from '../fit/model.ts';
import { Scorer } from '../fit/scorer.ts';
import { type Dataset, datasetRows } from '../rows/dataset.ts';
import { seededRandom } from '../rows/random.ts';
import { recencies } from '../rows/recency.ts';
import { prepareFold } from './candidates.ts';
import { type Choice, choose } from './choose.ts';
import { downsample, timeFolds } from './folds.ts';
import { judge } from './judge.ts';
import { levelShifts, type RecentRows, rateOf, recentRows, type TimedRows } from './level.ts';
import type { LaterMeasures, LevelReport, TrainingReport, Verdict } from './report.ts';
import { topFeatures } from './top-features.ts';

/** Goals with fewer conversions get the base rate, because nothing finer could be verified. */
export const minConversions = 30;
/** Choosing and judging sample at most this many rows. The model to serve learns from all. */
const maxRowsForChoice = 40_000;

export interface TrainingOptions {
	readonly seed: number;
	/** The time after a row's moment until its outcome is known. Default: 0. */
	readonly horizonMs?: number;
	/** The measured base rates by recency, for the report. See `BaseRate`. */
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
	const timed = dataset.timed(order);
	const recent = recentRows(timed, order.length);
	const common = { rows, conversions, baseRate: prior.baseRate, seed };
	const serveBaseRate = (
		verdict: Verdict,
		judged: { choice?: Choice; later?: LaterMeasures; overlaps?: boolean } = {},
	) => ({
		model: prior,
		report: {
			...{ ...common, kind: prior.kind, verdict, overlaps: false, later: undefined, topFeatures: [] },
			levels: levelReports(timed, recent, [], baseRates),
			...judged,
		},
	});
	if (rows === 0) return serveBaseRate('no rows');
	if (Math.min(conversions, rows - conversions) < minConversions) return serveBaseRate('few conversions');
	const folds = timeFolds(dataset, downsample(order, maxRowsForChoice), horizonMs);
	if (folds.length < 2) return serveBaseRate('uneven');
	const prepared = folds.map((fold) => prepareFold(dataset, fold, seededRandom(seed)));
	const choice = choose(prepared);
	const later = judge(dataset, folds, prepared);
	const overlaps = folds.some((fold) => fold.overlaps);
	if (!choice.serves.includes(true)) return serveBaseRate('no signal', { choice, later, overlaps });

	const encoding = fitEncoding(dataset, order);
	const encoded = encodeRows(dataset, order, encoding, true);
	const base = { format: prior.format, features: dataset.features, baseRate: prior.baseRate, encoding };
	let model: LogisticModel | BoostingModel;
	let fit: TrainingReport['fit'];
	if (choice.kind === 'logistic') {
		const { weights, steps, converged } = fitLogistic(encoded, choice.strength);
		fit = { steps, converged };
		model = { ...base, kind: 'logistic', horizonMs, levels: [], rates: [], weights };
	} else {
		const start = startLogOdds(encoded);
		const booster = new Booster(encoded, start, seededRandom(seed));
		while (booster.trees.length < choice.trees) booster.grow();
		model = {
			...base,
			kind: 'boosting',
			horizonMs,
			levels: [],
			rates: [],
			startLogOdds: start,
			trees: booster.trees,
		};
	}
	const scorer = new Scorer(model);
	const logOdds = Float64Array.from(datasetRows(dataset, order), (row) => scorer.logOdds(row));
	const shifts = levelShifts(recent, logOdds, timed);
	const levels = shifts.map((shift, recency) => (choice.serves[recency] ? shift : null));
	const rates = recencies.map((recency) => baseRates?.[recency] ?? rateOfRows(timed, recent[recency]));
	return {
		model: { ...model, levels, rates },
		report: {
			...{ ...common, kind: model.kind, verdict: 'served', choice, ...(fit && { fit }), overlaps },
			...{
				levels: levelReports(timed, recent, choice.serves, baseRates),
				later,
				topFeatures: topFeatures(model, dataset, order),
			},
		},
	};
}

function rateOfRows({ labels }: TimedRows, rows: ArrayLike<number> = []): number {
	return rateOf(Uint8Array.from(rows, (row) => labels[row] as number));
}

function levelReports(
	timed: TimedRows,
	recent: RecentRows,
	serves: readonly boolean[],
	baseRates: readonly number[] | undefined,
): LevelReport[] {
	return recencies.flatMap((recency) => {
		const rows = recent[recency] ?? new Uint32Array();
		if (rows.length === 0) return [];
		const ofRows = rateOfRows(timed, rows);
		return [
			{
				...{ recency, serves: serves[recency] ? 'model' : 'base rate', rows: rows.length },
				rate: serves[recency] ? ofRows : (baseRates?.[recency] ?? ofRows),
				since: new Date(timed.atMs[rows[0] as number] as number).toISOString(),
			},
		];
	});
}
