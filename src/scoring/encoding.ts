import { binOf, cutsBetween, quantileCuts } from './cuts.ts';
import type { Dataset } from './dataset.ts';

/** Bins that trees may split between, and bins that get a weight of their own in the logistic model. */
const fineBins = 64;
const coarseBins = 10;
/** Quantiles are taken from this many rows at most; more change no cut that matters. */
const mostRowsForCuts = 100_000;
/** Texts of a column that get a weight of their own, if they have this many rows; and texts whose rate is kept. */
const mostFrequentTexts = 40;
const fewestRowsOfFrequent = 30;
const mostRates = 5000;
/** A text's rate is mixed with this many rows of the base rate: few rows say little. */
const rateShrinkageRows = 20;

/** How a number becomes inputs of the models. Plain data, part of a stored model. */
export interface NumericEncoding {
	readonly name: string;
	/** Of sign(x)·log1p|x|. */
	readonly mean: number;
	readonly scale: number;
	/** The range that was learned from. Beyond it a number counts as its end: no line goes on for ever. */
	readonly lowest: number;
	readonly highest: number;
	readonly cuts: readonly number[];
	/** The coarse bin of each fine one; 0 is missing in both. */
	readonly slotOfBin: readonly number[];
}

/** How a text becomes inputs. Slot 0 is any text that is not among the frequent ones. */
export interface CategoricalEncoding {
	readonly name: string;
	readonly frequent: readonly string[];
	/** Log-odds of the shrunken rate above those of the base rate, the most seen texts first. */
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
	/** One number a row: the transformed number, or a rare text's rate. */
	readonly linear: readonly Float32Array[];
	/** One coarse bin or frequent text a row. */
	readonly slots: readonly Uint8Array[];
	readonly slotCounts: readonly number[];
	/** One fine bin a row. */
	readonly bins: readonly Uint8Array[];
}

/** sign(x)·log1p|x|: tames long tails, keeps order and sign. */
function signedLog(value: number): number {
	return value < 0 ? -Math.log1p(-value) : Math.log1p(value);
}

/** The number that the logistic model's line reads. */
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
	const stride = Math.max(1, Math.ceil(values.length / mostRowsForCuts));
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
	const coarse = cutsBetween([...counts.keys()], counts, coarseBins);
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
	const baseRate = meanOf(labels);
	const rateOf = (code: number) => shrunkenRate(rows[code] as number, conversions[code] as number, baseRate);
	const frequent = byRows
		.slice(0, mostFrequentTexts)
		.filter((code) => (rows[code] as number) >= fewestRowsOfFrequent);
	const kept = byRows.slice(0, mostRates).sort((a, b) => rateOf(a) - rateOf(b));
	return {
		name,
		frequent: frequent.map((code) => texts[code] as string),
		rates: byRows.slice(0, mostRates).map((code) => [texts[code] as string, rateOf(code)]),
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

function meanOf(labels: Uint8Array): number {
	let conversions = 0;
	for (const label of labels) conversions += label;
	// Half a conversion more on either side: the log-odds stay finite whatever the labels are.
	return (conversions + 0.5) / (labels.length + 1);
}

function shrunkenRate(rows: number, conversions: number, baseRate: number): number {
	const rate = (conversions + rateShrinkageRows * baseRate) / (rows + rateShrinkageRows);
	return Math.log(rate / (1 - rate)) - Math.log(baseRate / (1 - baseRate));
}

/**
 * Encodes rows. With `fitted`, the rows are those that the encoding was learned from, in the same order, and a rare text's
 * rate is what the rows before had shown: a row must not be told its own outcome.
 */
export function encodeRows(
	dataset: Dataset,
	rows: Uint32Array,
	encoding: Encoding,
	fitted: boolean,
): EncodedRows {
	const labels = dataset.labels(rows);
	const encoded = {
		rows: rows.length,
		labels,
		linear: [] as Float32Array[],
		slots: [] as Uint8Array[],
		slotCounts: [] as number[],
		bins: [] as Uint8Array[],
	};
	for (const [column, numeric] of encoding.numeric.entries()) {
		const values = dataset.numeric(column, rows);
		const bins = new Uint8Array(rows.length);
		const slots = new Uint8Array(rows.length);
		for (let row = 0; row < rows.length; row++) {
			const value = values[row] as number;
			const bin = binOf(numeric.cuts, value);
			bins[row] = bin;
			slots[row] = numeric.slotOfBin[bin] as number;
			values[row] = bin === 0 ? 0 : standardised(numeric, value);
		}
		encoded.linear.push(values);
		encoded.slots.push(slots);
		encoded.slotCounts.push(Math.max(...numeric.slotOfBin) + 1);
		encoded.bins.push(bins);
	}
	for (const [column, categorical] of encoding.categorical.entries()) {
		const codes = dataset.categorical(column, rows);
		const texts = dataset.texts(column);
		const slotOf = new Map(categorical.frequent.map((text, index) => [text, index + 1]));
		const rateOf = new Map(categorical.rates);
		const slotOfCode = Uint8Array.from(texts, (text) => slotOf.get(text) ?? 0);
		const rateOfCode = Float64Array.from(texts, (text) => rateOf.get(text) ?? 0);
		const slots = Uint8Array.from(codes, (code) => slotOfCode[code] as number);
		const rates = fitted
			? ratesSoFar(codes, slots, rateOfCode, labels)
			: Float32Array.from(codes, (code) => rateOfCode[code] as number);
		encoded.bins.push(Uint8Array.from(rates, (rate) => binOf(categorical.cuts, rate)));
		encoded.linear.push(rates.map((rate, row) => (slots[row] === 0 ? rate : 0)));
		encoded.slots.push(slots);
		encoded.slotCounts.push(categorical.frequent.length + 1);
	}
	return encoded;
}

function ratesSoFar(
	codes: Uint32Array,
	slots: Uint8Array,
	rateOfCode: Float64Array,
	labels: Uint8Array,
): Float32Array {
	const baseRate = meanOf(labels);
	const rows = new Float64Array(rateOfCode.length);
	const conversions = new Float64Array(rateOfCode.length);
	return Float32Array.from(codes, (code, row) => {
		if (slots[row] !== 0) return rateOfCode[code] as number;
		const rate = shrunkenRate(rows[code] as number, conversions[code] as number, baseRate);
		(rows[code] as number)++;
		(conversions[code] as number) += labels[row] as number;
		return rate;
	});
}
