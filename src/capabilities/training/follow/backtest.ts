import { delayMsOf, type Goal, horizonMsOf } from '../../../core/domain/goal.ts';
import { OperatorError } from '../../../core/errors.ts';
import { counted } from '../../../core/format/numbers.ts';
import { openModel } from '../../../core/scoring/serve/goal-model.ts';
import { baseRateFor } from '../../../core/scoring/serve/served-rate.ts';
import { seededRandom } from '../../../kit/random.ts';
import {
	type AccountHistory,
	type HistoryExtent,
	historiesOf,
	type VisitorHistory,
} from '../../../kit/reading/histories.ts';
import {
	auc,
	brierScore,
	type CalibrationBin,
	calibrationTable,
	type Estimate,
	expectedCalibrationError,
	type Interval,
	logLoss,
	logLosses,
	mean,
	meanOfGroups,
} from '../fit/measure.ts';
import { difference } from '../judge/choose.ts';
import { train } from '../judge/train.ts';
import type { TrainingReport } from '../judge/training-report.ts';
import { accountRows } from '../rows/account-rows.ts';
import { profilesAt } from '../rows/snapshots.ts';
import { measureBaseRates } from '../serve/base-rate.ts';
import { outcomesIn } from './outcomes.ts';
import { simpleModel } from './simple-model.ts';

export type BacktestMoment = 'cut' | 'hit';

export interface BacktestOptions {
	readonly goal: Goal;
	/** The moments as of which models are trained and visitors scored, earliest first. */
	readonly cutsMs: readonly number[];
	/** Outcomes of what is scored later are not known in full. */
	readonly untilMs: number;
	readonly seed: number;
	/**
	 * `cut`: all visitors known at the cut; `hit`: after hits until the next cut, when pages ask.
	 */
	readonly at: BacktestMoment;
	/** The maximum number of visitors, and about the maximum number of hits, for each cut; sampled evenly. */
	readonly maxScores?: number;
	/** Called with a growing number of cuts, parts of them included. */
	readonly onProgress: (done: number, total: number) => void;
}

/** How well scores predicted the outcomes. */
export interface Measures {
	/** Null if all outcomes were the same. */
	readonly auc: Estimate | null;
	readonly logLoss: number;
	readonly brier: number;
	readonly expectedCalibrationError: number;
	/** The mean score. */
	readonly predicted: number;
}

export interface CutReport {
	/** ISO 8601, UTC; `all` for all cuts together. */
	readonly cut: string;
	/** The number of scores: one for each visitor, or for each hit. */
	readonly scores: number;
	/** The share that reached the goal. */
	readonly observed: number;
	/** What would have been served: the kind of model, or `prior`. For all cuts, how many of them had a model. */
	readonly kind: string;
	readonly served: Measures;
	/** The base rate as it would have been served. */
	readonly baseRate: Measures;
	/** Logistic regression on recency, count and age alone; null if it could not be fitted. */
	readonly simple: Measures | null;
	readonly calibrationTable: readonly CalibrationBin[];
}

/** How much the log loss of all scores is below that of others for the same visitors. */
export interface BacktestGain extends Interval {
	readonly result: 'better' | 'worse' | 'not shown';
}

export interface BacktestReport {
	readonly cuts: readonly CutReport[];
	readonly all: CutReport;
	readonly gains: {
		readonly overBaseRate: BacktestGain;
		/** Null if it could not be fitted. */
		readonly overSimple: BacktestGain | null;
	};
	/** Of all visitors but mail gateways, those who were drawn to be scored. */
	readonly visitors: { readonly drawn: number; readonly all: number };
	/** Mail gateways, who are left out; missing if there is none. */
	readonly gatewayVisitors?: number;
}

/** This share of the history is only for learning. */
const teachingShare = 0.4;

/**
 * Moments spread evenly over a history. Everything that is scored is a horizon before its end, so that its outcome is
 * known.
 * @throws OperatorError where the history is too short
 */
export function cutsForBacktest(
	{ fromMs, toMs }: HistoryExtent,
	goal: Goal,
	cuts: number,
	at: BacktestMoment,
): Pick<BacktestOptions, 'cutsMs' | 'untilMs'> {
	const lastMs = toMs - horizonMsOf(goal);
	const firstMs = fromMs + (toMs - fromMs) * teachingShare;
	if (!(lastMs > firstMs))
		throw new OperatorError(
			`The history is too short: a back-test of a goal within ${counted(goal.horizonDays, 'day')} needs more than ${counted(Math.ceil(goal.horizonDays / (1 - teachingShare)), 'day')}.`,
		);
	// Hits are scored up to the next cut, so the last cut needs time after it.
	const steps = at === 'hit' ? cuts : cuts - 1;
	return {
		cutsMs: Array.from({ length: cuts }, (_, cut) =>
			Math.round(steps === 0 ? lastMs : firstMs + ((lastMs - firstMs) * cut) / steps),
		),
		untilMs: lastMs,
	};
}

export const defaultMaxScores = 50_000;
const vidsPerList = 5000;
/** Of the time that a cut takes, about. */
const shareOfReading = 0.3;

/** By score: the outcome, what was served, what others would have been, and the number of the visitor. */
type Outcomes = Readonly<Record<'labels' | 'served' | 'base' | 'simple' | 'groups', number[]>>;

const noOutcomes = (): Outcomes => ({ labels: [], served: [], base: [], simple: [], groups: [] });

/**
 * For each cut, trains on what was known then, scores the visitors as a page or a batch would have done, and compares
 * the scores with the outcomes within the horizon after it.
 */
export async function backtest(reader: AccountHistory, options: BacktestOptions): Promise<BacktestReport> {
	const { goal, cutsMs, untilMs, onProgress } = options;
	const numbers = new Map<string, number>();
	const cuts: CutReport[] = [];
	const all = noOutcomes();
	const drawn = await drawnVisitors(
		reader,
		options.maxScores ?? defaultMaxScores,
		untilMs + horizonMsOf(goal),
	);
	for (const [index, cutMs] of cutsMs.entries()) {
		onProgress(index, cutsMs.length);
		const period = { cutMs, untilMs: cutsMs[index + 1] ?? untilMs, knownToMs: untilMs + horizonMsOf(goal) };
		const { kind, outcomes } = await scoresAsOf(
			reader,
			options,
			{ ...period, drawn: drawn.vids },
			numbers,
			(share) => onProgress(index + share, cutsMs.length),
		);
		cuts.push(reportOf(new Date(cutMs).toISOString(), kind, outcomes));
		for (const column of Object.keys(all) as (keyof Outcomes)[])
			for (const value of outcomes[column]) all[column].push(value);
	}
	onProgress(cutsMs.length, cutsMs.length);
	const withModel = cuts.filter(({ kind }) => kind !== 'prior').length;
	return {
		cuts,
		all: reportOf('all', `${withModel} of ${cuts.length} with a model of ${goal.name}`, all),
		gains: {
			overBaseRate: gainOver(all.base, all),
			overSimple: all.simple.length > 0 ? gainOver(all.simple, all) : null,
		},
		visitors: { drawn: drawn.vids.length, all: drawn.all },
		...(drawn.gateways > 0 && { gatewayVisitors: drawn.gateways }),
	};
}

/** All scores of a visitor, at all cuts, are one observation. */
function gainOver(others: readonly number[], { labels, served, groups }: Outcomes): BacktestGain {
	const lossesOf = (scores: readonly number[]) =>
		logLosses(Uint8Array.from(labels), Float64Array.from(scores));
	const gain = meanOfGroups(difference(lossesOf(others), lossesOf(served)), Uint32Array.from(groups));
	return { ...gain, result: gain.low > 0 ? 'better' : gain.high < 0 ? 'worse' : 'not shown' };
}

interface ScoredPeriod {
	readonly cutMs: number;
	readonly untilMs: number;
	/** The end of the history. */
	readonly knownToMs: number;
	/** The visitors to score. */
	readonly drawn: readonly string[];
}

/**
 * Trains as of one cut, and scores what follows.
 * @param numbers of visitors, which are the groups of outcomes
 */
export async function scoresAsOf(
	reader: AccountHistory,
	{ goal, seed, at, maxScores = defaultMaxScores }: BacktestOptions,
	{ cutMs, untilMs, knownToMs, drawn }: ScoredPeriod,
	numbers: Map<string, number>,
	onShare: (share: number) => void = () => {},
): Promise<{ kind: string; outcomes: Outcomes; report: TrainingReport }> {
	const { rows, vids } = await accountRows(reader, {
		goals: [goal],
		asOfMs: cutMs,
		seed,
		onProgress: (done) => onShare((shareOfReading * Math.min(done, drawn.length)) / drawn.length),
	});
	const ofVisitors = rows.find(({ scope }) => scope === 'vid');
	if (!ofVisitors) throw new Error('an account has rows of visitors');
	const { dataset, horizonMs } = ofVisitors;
	const rates = (await measureBaseRates(reader, [goal], cutMs, vids)).get(goal.name) ?? {
		byRecency: [0, 0, 0],
	};
	const { model, report } = train(dataset, {
		seed,
		horizonMs,
		delayMs: delayMsOf(goal),
		onProgress: (share) => onShare(shareOfReading + (1 - shareOfReading) * share),
	});
	const served = model.kind === 'prior' ? undefined : openModel('backtest', JSON.stringify(model));
	const simple = simpleModel(dataset);
	const outcomes = noOutcomes();
	const judging = { goal, cadences: await reader.cadences(cutMs), knownToMs };
	const [momentsOf, lastMs] =
		at === 'cut'
			? [() => [cutMs], cutMs]
			: [await hitsDrawn(reader, { fromMs: cutMs, untilMs, seed, maxScores }), untilMs];
	const readToMs = goal.counts === 'renewal' ? knownToMs : lastMs + horizonMsOf(goal);
	for await (const history of historiesOf(reader, drawn, readToMs)) {
		const momentsMs = momentsOf(history);
		const outcomesAt = outcomesIn(history, judging);
		for (const [index, profile] of profilesAt(history, momentsMs).entries()) {
			const atMs = momentsMs[index] as number;
			// Not all are known at a cut.
			for (const { label, scored } of profile ? outcomesAt(profile, atMs) : []) {
				const base = baseRateFor(rates, goal, profile, atMs);
				outcomes.labels.push(label);
				outcomes.base.push(base);
				outcomes.served.push(served?.probability(profile, atMs, scored) ?? base);
				outcomes.simple.push(simple?.(profile, atMs) ?? base);
				outcomes.groups.push(numbers.getOrInsert(history.vid, numbers.size));
			}
		}
	}
	return { kind: model.kind, outcomes, report };
}

/** Samples visitors evenly. @param knownToMs as of when they are known to be people */
export async function drawnVisitors(
	reader: AccountHistory,
	maxVisitors: number,
	knownToMs: number,
): Promise<{ readonly vids: readonly string[]; readonly all: number; readonly gateways: number }> {
	const gateways = await reader.gateways(knownToMs);
	const vids: string[] = [];
	for (let last: string | undefined = ''; last !== undefined; ) {
		const page: string[] = await reader.vidsAfter(last, vidsPerList);
		for (const vid of page) if (!gateways.has(vid)) vids.push(vid);
		last = page.length < vidsPerList ? undefined : page.at(-1);
	}
	const every = Math.max(1, Math.ceil(vids.length / maxVisitors));
	return { vids: vids.filter((_, index) => index % every === 0), all: vids.length, gateways: gateways.size };
}

/** Draws hits of a period: of all visitors, each has the same chance, as pages ask after each. */
async function hitsDrawn(
	reader: AccountHistory,
	{ fromMs, untilMs, seed, maxScores }: { fromMs: number; untilMs: number; seed: number; maxScores: number },
): Promise<(history: VisitorHistory) => number[]> {
	const [before, after] = [await reader.historyExtent(fromMs), await reader.historyExtent(untilMs)];
	const share = maxScores / Math.max(1, after.hits - before.hits);
	const random = seededRandom(seed);
	return ({ hits }) =>
		hits.map(({ atMs }) => atMs).filter((atMs) => atMs > fromMs && atMs <= untilMs && random() < share);
}

function reportOf(cut: string, kind: string, outcomes: Outcomes): CutReport {
	const labels = Uint8Array.from(outcomes.labels);
	const groups = Uint32Array.from(outcomes.groups);
	const served = Float64Array.from(outcomes.served);
	return {
		cut,
		scores: labels.length,
		observed: labels.length === 0 ? 0 : mean(labels),
		kind,
		served: measures(labels, served, groups),
		baseRate: measures(labels, Float64Array.from(outcomes.base), groups),
		simple: outcomes.simple.length > 0 ? measures(labels, Float64Array.from(outcomes.simple), groups) : null,
		calibrationTable: calibrationTable(labels, served),
	};
}

function measures(labels: Uint8Array, scores: Float64Array, groups: Uint32Array): Measures {
	const ranked = auc(labels, scores, groups);
	return {
		auc: Number.isNaN(ranked.value) ? null : ranked,
		logLoss: logLoss(labels, scores),
		brier: brierScore(labels, scores),
		expectedCalibrationError: expectedCalibrationError(calibrationTable(labels, scores)),
		predicted: mean(scores),
	};
}
