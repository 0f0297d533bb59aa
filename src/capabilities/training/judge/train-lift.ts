import {
	type LiftMethod,
	type LiftModel,
	type LogisticModel,
	liftMethods,
	modelFormat,
} from '../../../core/scoring/model/model.ts';
import { liftOf } from '../../../core/scoring/model/scorer.ts';
import { seededRandom } from '../../../kit/random.ts';
import { learnEncoding, prepareNumbers } from '../fit/encoding.ts';
import { fitLogistic } from '../fit/logistic.ts';
import { byScore, type Interval, mean } from '../fit/measure.ts';
import { qini } from '../fit/qini.ts';
import { fitRidge } from '../fit/ridge.ts';
import { type Dataset, featureRows, rowsAt, valuesAt } from '../rows/dataset.ts';
import { strengthFor } from './fold-models.ts';

/** The visitors of an experiment: each has one row, as of the moment at which it entered. */
export interface LiftRows {
	readonly dataset: Dataset;
	/** For each row, 1 if the visitor was treated, 0 if held out. */
	readonly treated: Uint8Array;
}

/** The visitors of a group. */
export interface GroupCounts {
	readonly visitors: number;
	readonly conversions: number;
}

/** How a lift model was trained and judged. Plain data. */
export interface LiftModelReport {
	readonly seed: number;
	readonly treated: GroupCounts;
	readonly holdout: GroupCounts;
	/** The difference of the two groups' rates. */
	readonly meanLift: number;
	/** What was tried, with the Qini coefficient on held-back visitors; the best is kept. */
	readonly tried: readonly { readonly method: LiftMethod; readonly qini: Interval }[];
	readonly method: LiftMethod;
	/** Whether the interval of its Qini coefficient is above zero. */
	readonly serves: boolean;
	/** Held-back visitors by what it said of them, those with the highest lift first. */
	readonly fifths: readonly LiftFifth[];
}

export interface LiftFifth {
	/** The mean of what was said. */
	readonly predicted: number;
	readonly treated: GroupCounts;
	readonly holdout: GroupCounts;
}

/** Each of so many parts is held back once. */
const parts = 5;
/** A standardised column is expected to move the lift by about this share of the rate, so most of what it seems to do is noise. */
const expectedShare = 0.1;

type LearnLift = (rows: LiftRows) => LiftModel;

const learners: Readonly<Record<LiftMethod, LearnLift>> = {
	'two models': learnTwoModels,
	'transformed outcome': learnTransformedOutcome,
};

/**
 * Learns for whom being treated changes most. Each learner learns five times from four fifths of the visitors and orders the
 * last fifth; the one with the larger Qini coefficient is kept, and then learns from all.
 */
export function trainLift(
	rows: LiftRows,
	{ seed, onProgress }: { readonly seed: number; readonly onProgress?: (share: number) => void },
): { readonly model: LiftModel; readonly report: LiftModelReport } {
	const { dataset, treated } = rows;
	const random = seededRandom(seed);
	const partOf = Uint8Array.from({ length: dataset.rows }, () => Math.floor(random() * parts));
	const steps = liftMethods.length * parts + 1;
	let done = 0;
	const tried = liftMethods.map((method) => {
		const lifts = new Float64Array(dataset.rows);
		const ranks = new Float64Array(dataset.rows);
		for (let part = 0; part < parts; part++) {
			const [others, heldBack] = [false, true].map((isOfPart) =>
				Uint32Array.from([...partOf.keys()].filter((row) => (partOf[row] === part) === isOfPart)),
			) as [Uint32Array, Uint32Array];
			const model = learners[method](liftRowsAt(rows, others));
			const said = liftsOf(model, rowsAt(dataset, heldBack));
			// Models differ in level, which must not order visitors of different parts.
			for (const [index, rank] of rankShares(said).entries()) {
				lifts[heldBack[index] as number] = said[index] as number;
				ranks[heldBack[index] as number] = rank;
			}
			onProgress?.(++done / steps);
		}
		const judged = { lifts: ranks, treated, labels: dataset.labels };
		return {
			method,
			lifts,
			ranks,
			qini: widened(qini(judged, 0.95, seed)),
		};
	});
	const best = tried.reduce((one, other) => (other.qini.value > one.qini.value ? other : one));
	const model = learners[best.method](rows);
	onProgress?.(1);
	const groups = groupsOf(rows);
	return {
		model,
		report: {
			seed,
			...groups,
			meanLift: rateOf(groups.treated) - rateOf(groups.holdout),
			tried: tried.map(({ method, qini }) => ({ method, qini })),
			method: best.method,
			serves: best.qini.low > 0,
			fifths: fifthsOf(rows, best),
		},
	};
}

/**
 * An interval that allows for parts whose models have learned from each other: its variance is 1 + parts · 1 / (parts − 1) times that of
 * the bootstrap, which takes the order as given (Nadeau & Bengio 2003, "Inference for the generalization error"). Without that, one in
 * twenty models of no effect would be served; with it one in a hundred, although the better of two is.
 */
function widened({ value, low, high }: Interval): Interval {
	const factor = Math.sqrt(1 + parts / (parts - 1));
	return { value, low: value - factor * (value - low), high: value + factor * (high - value) };
}

/** What a model says of each row. */
export function liftsOf(model: LiftModel, dataset: Dataset): Float64Array {
	return Float64Array.from(featureRows(dataset), liftOf(model));
}

/** One model of the treated and one of those held out: the lift is the difference of their probabilities. */
function learnTwoModels(rows: LiftRows): LiftModel {
	return liftModel(
		rows,
		'two models',
		[1, 0].map((group) => {
			const { dataset } = liftRowsAt(rows, rowsOfGroup(rows, group));
			const numbers = prepareNumbers(dataset);
			const { encoding, encode } = learnEncoding(dataset, numbers);
			const { weights } = fitLogistic(encode(dataset, numbers), strengthFor(dataset));
			return logisticModel(dataset, { encoding, weights });
		}),
	);
}

/**
 * Linear regression on the transformed outcome (Y − r)·(W − e)/(e·(1 − e)), of which the lift is the mean: W is 1 if treated, e
 * the treated share, r the rate (Athey & Imbens 2016, "Recursive partitioning for heterogeneous causal effects"). With r = ½
 * it would be the class transformation of Jaskowski & Jaroszewicz (2012, "Uplift modeling for clinical trial data"), weighted
 * by propensity; conversions are rare, and with their rate instead there is much less noise.
 */
function learnTransformedOutcome(rows: LiftRows): LiftModel {
	const { dataset, treated } = rows;
	const [rate, share] = [mean(dataset.labels), mean(treated)];
	// Relative to what a column is expected to do, weights are about 1.
	const unit = expectedShare * rate;
	const values = Float64Array.from(
		dataset.labels,
		(label, row) => ((label - rate) * ((treated[row] as number) - share)) / (share * (1 - share)) / unit,
	);
	const variance = mean(values.map((value) => value ** 2));
	const numbers = prepareNumbers(dataset);
	const { encoding, encode } = learnEncoding(dataset, numbers, { values, shrinkageVisitors: variance });
	const { intercept, linear, missing } = fitRidge(encode(dataset, numbers), values, variance);
	const weights = {
		intercept: unit * intercept,
		linear: linear.map((weight) => unit * weight),
		missing: missing.map((weight) => unit * weight),
	};
	return liftModel(rows, 'transformed outcome', [logisticModel(dataset, { encoding, weights })]);
}

function liftModel({ dataset }: LiftRows, method: LiftMethod, parts: readonly LogisticModel[]): LiftModel {
	const { features, labels } = dataset;
	return { format: modelFormat, kind: 'lift', features, baseRate: mean(labels), method, parts };
}

function logisticModel(
	{ features, labels }: Dataset,
	fitted: Pick<LogisticModel, 'encoding' | 'weights'>,
): LogisticModel {
	const common = { format: modelFormat, features, baseRate: mean(labels), horizonMs: 0, levels: [] } as const;
	return { ...common, kind: 'logistic', ...fitted };
}

function rowsOfGroup({ treated }: LiftRows, group: number): Uint32Array {
	return Uint32Array.from([...treated.keys()].filter((row) => treated[row] === group));
}

function liftRowsAt({ dataset, treated }: LiftRows, places: Uint32Array): LiftRows {
	return { dataset: rowsAt(dataset, places), treated: valuesAt(treated, places) };
}

function groupsOf(rows: LiftRows): Pick<LiftModelReport, 'treated' | 'holdout'> {
	const countsOf = (group: number): GroupCounts => {
		const labels = valuesAt(rows.dataset.labels, rowsOfGroup(rows, group));
		return { visitors: labels.length, conversions: labels.reduce((sum, label) => sum + label, 0) };
	};
	return { treated: countsOf(1), holdout: countsOf(0) };
}

function fifthsOf(
	rows: LiftRows,
	{ lifts, ranks }: { readonly lifts: Float64Array; readonly ranks: Float64Array },
): LiftFifth[] {
	const order = byScore(ranks).reverse();
	return Array.from({ length: 5 }, (_, fifth) => {
		const [from, to] = [fifth, fifth + 1].map((edge) => Math.round((edge * order.length) / 5));
		const places = order.slice(from, to);
		return { predicted: mean(valuesAt(lifts, places)), ...groupsOf(liftRowsAt(rows, places)) };
	});
}

function rateOf({ visitors, conversions }: GroupCounts): number {
	return conversions / visitors;
}

/** Ranks from 0 to 1; equal values share the first one's. */
function rankShares(values: Float64Array): Float64Array {
	const order = byScore(values);
	const ranks = new Float64Array(values.length);
	for (const [place, row] of order.entries()) {
		const before = order[place - 1];
		const isTied = before !== undefined && values[before] === values[row];
		ranks[row] = isTied ? (ranks[before] as number) : place / values.length;
	}
	return ranks;
}
