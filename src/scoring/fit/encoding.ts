import { without } from '../rows/ablation.ts';
import type { Dataset } from '../rows/dataset.ts';
import { binOf, cutsBetween, quantileCuts } from './cuts.ts';

/** Bins that trees may split between, and bins that have weights in the logistic model. */
const fineBins = 64;
const coarseBins = 10;
/** Quantiles are computed from at most this many rows; more would hardly change a cut. */
const maxRowsForCuts = 100_000;
/**
 * The maximum number of texts of a column with a weight of their own, the rows that they need, and the number of texts
 * with a rate.
 */
const maxFrequentTexts = 40;
const minRowsOfFrequent = 30;
const maxRates = 5000;
/** A text's rate is mixed with this many rows of the base rate, because few rows prove little. */
const rateShrinkageRows = 20;

/** How a number becomes model inputs. Plain data, part of a stored model. */
export interface NumericEncoding {
	readonly name: string;
	/** The mean of sign(x)·log1p|x|. */
	readonly mean: number;
	readonly scale: number;
	/** The range of the training rows. Numbers beyond it count as its ends, so that no line extrapolates. */
	readonly lowest: number;
	readonly highest: number;
	readonly cuts: readonly number[];
	/** The coarse bin of each fine bin; 0 means missing in both. */
	readonly slotOfBin: readonly number[];
}

/** How a text becomes model inputs. Slot 0 is any text that is not frequent. */
export interface CategoricalEncoding {
	readonly name: string;
	readonly frequent: readonly string[];
	/** The shrunken rate's log-odds minus the base rate's, most frequent texts first. */
	readonly rates: readonly (readonly [text: string, rate: number])[];
	readonly cuts: readonly number[];
}

export interface Encoding {
	readonly numeric: readonly NumericEncoding[];
	readonly categorical: readonly CategoricalEncoding[];
}

/** sign(x)·log1p|x|: compresses long tails, keeps order and sign. */
function signedLog(value: number): number {
	return value < 0 ? -Math.log1p(-value) : Math.log1p(value);
}

/** The number as the logistic model's linear term uses it. */
export function standardised(column: NumericEncoding, value: number): number {
	const within = Math.min(column.highest, Math.max(column.lowest, value));
	return (signedLog(within) - column.mean) / column.scale;
}

/** Learns the encoding from rows in time order. */
export function fitEncoding(dataset: Dataset, rows: Uint32Array): Encoding {
	const labels = dataset.labels(rows);
	return {
		numeric: dataset.features.numeric.map(({ name }, column) =>
			fitNumeric(name, dataset.numeric(column, rows)),
		),
		categorical: dataset.features.categorical.map(({ name }, column) =>
			fitCategorical(name, dataset.categorical(column, rows), dataset.texts(column), labels),
		),
	};
}

function fitNumeric(name: string, values: Float32Array): NumericEncoding {
	const stride = Math.max(1, Math.ceil(values.length / maxRowsForCuts));
	const known = values.filter((value, index) => index % stride === 0 && !Number.isNaN(value)).sort();
	let sum = 0;
	let squares = 0;
	for (const value of known) {
		const transformed = signedLog(value);
		sum += transformed;
		squares += transformed ** 2;
	}
	const mean = known.length > 0 ? sum / known.length : 0;
	const variance = known.length > 0 ? squares / known.length - mean ** 2 : 0;
	const cuts = quantileCuts(known, fineBins);
	return {
		name,
		mean,
		scale: variance > 1e-12 ? Math.sqrt(variance) : 1,
		lowest: known[0] ?? 0,
		highest: known[known.length - 1] ?? 0,
		cuts,
		slotOfBin: coarseSlots(known, cuts),
	};
}

function coarseSlots(known: Float32Array, cuts: readonly number[]): number[] {
	const counts = new Array<number>(cuts.length + 1).fill(0);
	for (const value of known) (counts[binOf(cuts, value) - 1] as number)++;
	const coarse = without.has('bins') ? [] : cutsBetween([...counts.keys()], counts, coarseBins);
	return [0, ...counts.keys().map((bin) => binOf(coarse, bin))];
}

function fitCategorical(
	name: string,
	codes: Uint32Array,
	texts: readonly string[],
	labels: Uint8Array,
): CategoricalEncoding {
	const rows = new Float64Array(texts.length);
	const conversions = new Float64Array(texts.length);
	for (const [index, code] of codes.entries()) {
		(rows[code] as number)++;
		(conversions[code] as number) += labels[index] as number;
	}
	const byRows = [...texts.keys()]
		.filter((code) => (rows[code] as number) > 0)
		.sort((a, b) => (rows[b] as number) - (rows[a] as number) || a - b);
	const baseRate = baseRateOf(labels);
	const rateOf = (code: number) => shrunkenRate(rows[code] as number, conversions[code] as number, baseRate);
	const frequent = byRows
		.slice(0, maxFrequentTexts)
		.filter((code) => (rows[code] as number) >= minRowsOfFrequent);
	const kept = byRows.slice(0, maxRates).sort((a, b) => rateOf(a) - rateOf(b));
	return {
		name,
		frequent: frequent.map((code) => texts[code] as string),
		rates: byRows.slice(0, maxRates).map((code) => [texts[code] as string, rateOf(code)]),
		cuts: [
			...new Set(
				cutsBetween(
					kept.map(rateOf),
					kept.map((code) => rows[code] as number),
					fineBins,
				),
			),
		],
	};
}

/** The base rate of rows. */
export function baseRateOf(labels: Uint8Array): number {
	let conversions = 0;
	for (const label of labels) conversions += label;
	// Half a row more of each outcome keeps the log-odds finite for any labels.
	return (conversions + 0.5) / (labels.length + 1);
}

/** A text's log-odds minus the base rate's. With fewer rows, it is closer to 0. */
export function shrunkenRate(rows: number, conversions: number, baseRate: number): number {
	const rate = (conversions + rateShrinkageRows * baseRate) / (rows + rateShrinkageRows);
	return Math.log(rate / (1 - rate)) - Math.log(baseRate / (1 - baseRate));
}
