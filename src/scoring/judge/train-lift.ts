import { learnEncoding, prepareNumbers } from '../fit/encoding.ts';
import { fitLogistic } from '../fit/logistic.ts';
import { byScore, type Interval, mean } from '../fit/measure.ts';
import { type LiftMethod, type LiftModel, type LogisticModel, modelFormat } from '../fit/model.ts';
import { qini } from '../fit/qini.ts';
import { liftOf } from '../fit/scorer.ts';
import { type Dataset, featureRows, rowsAt, valuesAt } from '../rows/dataset.ts';
import { seededRandom } from '../rows/random.ts';
import { strength } from './fold-models.ts';

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
	/** The Qini coefficient on held-back visitors. Earlier versions tried two methods, and kept the better. */
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

const method = 'two models';
/** Each of so many parts is held back once. */
const parts = 5;
/**
 * Learns for whom being treated changes most. To be judged, it learns five times from four fifths of the visitors and orders
 * the last fifth; then it learns from all.
 */
export function trainLift(
	rows: LiftRows,
	{ seed, onProgress }: { readonly seed: number; readonly onProgress?: (share: number) => void },
): { readonly model: LiftModel; readonly report: LiftModelReport } {
	const { dataset, treated } = rows;
	const random = seededRandom(seed);
	const partOf = Uint8Array.from({ length: dataset.rows }, () => Math.floor(random() * parts));
	const lifts = new Float64Array(dataset.rows);
	const ranks = new Float64Array(dataset.rows);
	for (let part = 0; part < parts; part++) {
		const [others, heldBack] = [false, true].map((isOfPart) =>
			Uint32Array.from([...partOf.keys()].filter((row) => (partOf[row] === part) === isOfPart)),
		) as [Uint32Array, Uint32Array];
		const said = liftsOf(learnLift(liftRowsAt(rows, others)), rowsAt(dataset, heldBack));
		// Models differ in level, which must not order visitors of different parts.
		for (const [index, rank] of rankShares(said).entries()) {
			lifts[heldBack[index] as number] = said[index] as number;
			ranks[heldBack[index] as number] = rank;
		}
		onProgress?.((part + 1) / (parts + 1));
	}
	const judged = widened(qini({ lifts: ranks, treated, labels: dataset.labels }, 0.95, seed));
	const model = learnLift(rows);
	onProgress?.(1);
	const groups = groupsOf(rows);
	return {
		model,
		report: {
			seed,
			...groups,
			meanLift: rateOf(groups.treated) - rateOf(groups.holdout),
			tried: [{ method, qini: judged }],
			method,
			serves: judged.low > 0,
			fifths: fifthsOf(rows, { lifts, ranks }),
		},
	};
}

/**
 * An interval that allows for parts whose models have learned from each other: its variance is 1 + parts · 1 / (parts − 1) times that of
 * the bootstrap, which takes the order as given (Nadeau & Bengio 2003, "Inference for the generalization error"). Without that, one in
 * twenty models of no effect would be served.
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
function learnLift(rows: LiftRows): LiftModel {
	const { features, labels } = rows.dataset;
	const common = { format: modelFormat, features } as const;
	const partsOfModel = [1, 0].map((group): LogisticModel => {
		const { dataset } = liftRowsAt(rows, rowsOfGroup(rows, group));
		const numbers = prepareNumbers(dataset);
		const { encoding, encode } = learnEncoding(dataset, numbers);
		const { weights } = fitLogistic(encode(dataset, numbers), strength);
		const baseRate = mean(dataset.labels);
		return { ...common, kind: 'logistic', baseRate, horizonMs: 0, levels: [], encoding, weights };
	});
	return { ...common, kind: 'lift', baseRate: mean(labels), method, parts: partsOfModel };
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
