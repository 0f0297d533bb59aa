import type { Dataset } from '../rows/dataset.ts';
import { binCount, binOf, cutsBetween, quantileCuts } from './cuts.ts';

/** Bins that trees may split between. */
const bins = 64;
/** A column's cuts, mean and range are those of at most this many rows; more would hardly change them. */
const maxRowsOfColumn = 10_000;
/** The maximum number of texts with a rate. */
const maxTexts = 5000;
/** The outcome of one of so many rows hardly moves the rate of all. */
const minRowsOfFrequent = 30;
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
}

/** How a text becomes a number: by the rate of its rows. */
export interface CategoricalEncoding {
	readonly name: string;
	/** The shrunken rate's log-odds minus the base rate's, most frequent texts first. Other texts get 0. */
	readonly rates: readonly (readonly [text: string, rate: number])[];
	readonly cuts: readonly number[];
}

export interface Encoding {
	readonly numeric: readonly NumericEncoding[];
	readonly categorical: readonly CategoricalEncoding[];
}

/** Rows as the models read them, by column: numeric columns first, then categorical ones. */
export interface EncodedRows {
	readonly rows: number;
	readonly labels: Uint8Array;
	/** The transformed number, 0 if it is missing; or the text's rate. */
	readonly linear: readonly Float32Array[];
	/** Of each column, the rows without a number. */
	readonly missing: readonly Uint32Array[];
	/** One bin per row; 0 if the number is missing. */
	readonly bins: readonly Uint8Array[];
	readonly binCounts: readonly number[];
}

/** sign(x)·log1p|x|: compresses long tails, keeps order and sign. */
function signedLog(value: number): number {
	return value < 0 ? -Math.log1p(-value) : Math.log1p(value);
}

/** The number as the logistic model uses it. */
export function standardised({ lowest, highest, mean, scale }: NumericEncoding, value: number): number {
	return (signedLog(Math.min(highest, Math.max(lowest, value))) - mean) / scale;
}

/** Learns the encoding from rows. */
export function fitEncoding(dataset: Dataset): Encoding {
	const { features, numeric, categorical, texts, labels } = dataset;
	return {
		numeric: features.numeric.map(({ name }, column) => fitNumeric(name, numeric[column] as Float32Array)),
		categorical: features.categorical.map(({ name }, column) =>
			fitCategorical(name, categorical[column] as Uint32Array, texts[column] as string[], labels),
		),
	};
}

function fitNumeric(name: string, values: Float32Array): NumericEncoding {
	const stride = Math.max(1, Math.ceil(values.length / maxRowsOfColumn));
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
	return {
		name,
		mean,
		scale: variance > 1e-12 ? Math.sqrt(variance) : 1,
		lowest: known[0] ?? 0,
		highest: known.at(-1) ?? 0,
		cuts: quantileCuts(known, bins),
	};
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
	const baseRate = baseRateOf(labels);
	const kept = [...texts.keys()]
		.filter((code) => (rows[code] as number) > 0)
		.sort((a, b) => (rows[b] as number) - (rows[a] as number) || a - b)
		.slice(0, maxTexts)
		.map((code) => ({
			text: texts[code] as string,
			rows: rows[code] as number,
			rate: shrunkenRate(rows[code] as number, conversions[code] as number, baseRate),
		}));
	const byRate = kept.toSorted((a, b) => a.rate - b.rate);
	const cuts = cutsBetween(
		byRate.map(({ rate }) => rate),
		byRate.map((one) => one.rows),
		bins,
	);
	return { name, rates: kept.map(({ text, rate }) => [text, rate]), cuts: [...new Set(cuts)] };
}

/** The base rate of rows. Half a row more of each outcome keeps the log-odds finite for any labels. */
function baseRateOf(labels: Uint8Array): number {
	return (labels.reduce((sum, label) => sum + label, 0) + 0.5) / (labels.length + 1);
}

/** A text's log-odds minus the base rate's. With fewer rows, it is closer to 0. */
function shrunkenRate(rows: number, conversions: number, baseRate: number): number {
	const rate = (conversions + rateShrinkageRows * baseRate) / (rows + rateShrinkageRows);
	return Math.log(rate / (1 - rate)) - Math.log(baseRate / (1 - baseRate));
}

/**
 * Encodes rows. With `fitted`, these are the rows that the encoding was learned from, in the same order, and a text's rate
 * counts only earlier rows: no row may see its own outcome.
 */
export function encodeRows(dataset: Dataset, encoding: Encoding, fitted: boolean): EncodedRows {
	const { rows, labels } = dataset;
	const linear: Float32Array[] = [];
	const missing: Uint32Array[] = [];
	const ofBins: Uint8Array[] = [];
	for (const [column, numeric] of encoding.numeric.entries()) {
		const values = (dataset.numeric[column] as Float32Array).slice();
		const cuts = Float64Array.from(numeric.cuts);
		const binned = new Uint8Array(rows);
		const without: number[] = [];
		for (let row = 0; row < rows; row++) {
			const value = values[row] as number;
			const bin = binOf(cuts, value);
			binned[row] = bin;
			values[row] = bin === 0 ? 0 : standardised(numeric, value);
			if (bin === 0) without.push(row);
		}
		linear.push(values);
		missing.push(Uint32Array.from(without));
		ofBins.push(binned);
	}
	for (const [column, { rates, cuts }] of encoding.categorical.entries()) {
		const codes = dataset.categorical[column] as Uint32Array;
		const texts = dataset.texts[column] as readonly string[];
		const rateOf = new Map(rates);
		const rateOfCode = Float64Array.from(texts, (text) => rateOf.get(text) ?? 0);
		const ofRows = fitted
			? ratesSoFar(codes, rateOfCode, labels)
			: Float32Array.from(codes, (code) => rateOfCode[code] as number);
		linear.push(ofRows);
		missing.push(new Uint32Array());
		ofBins.push(Uint8Array.from(ofRows, (rate) => binOf(cuts, rate)));
	}
	return {
		rows,
		labels,
		linear,
		missing,
		bins: ofBins,
		binCounts: [...encoding.numeric, ...encoding.categorical].map(({ cuts }) => binCount(cuts)),
	};
}

function ratesSoFar(codes: Uint32Array, rateOfCode: Float64Array, labels: Uint8Array): Float32Array {
	const baseRate = baseRateOf(labels);
	const rows = new Float64Array(rateOfCode.length);
	const conversions = new Float64Array(rateOfCode.length);
	const total = new Float64Array(rateOfCode.length);
	for (const code of codes) (total[code] as number)++;
	return Float32Array.from(codes, (code, row) => {
		if ((total[code] as number) >= minRowsOfFrequent) return rateOfCode[code] as number;
		const rate = shrunkenRate(rows[code] as number, conversions[code] as number, baseRate);
		(rows[code] as number)++;
		(conversions[code] as number) += labels[row] as number;
		return rate;
	});
}
