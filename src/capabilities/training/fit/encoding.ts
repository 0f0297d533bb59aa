import { logOddsOfProbability } from '../../../core/scoring/model/log-odds.ts';
import type { CategoricalEncoding, Encoding, NumericEncoding } from '../../../core/scoring/model/model.ts';
import { binOf, signedLog } from '../../../core/scoring/model/scorer.ts';
import { type Dataset, rowsByGroup, valuesAt } from '../rows/dataset.ts';
import { binCount, cutsBetween, quantileCuts } from './cuts.ts';

/** Bins that trees may split between. */
const maxBins = 64;
/** Bins that these are made of, with one of missing numbers. */
const preparedBins = 65_535;
/** A column's cuts are those of at most this many rows; more would hardly change them. */
const maxRowsOfColumn = 10_000;
/** With fewer visitors, a text's rate would be their own outcomes. */
const minVisitorsOfText = 30;
/** A text's rate is mixed with this many visitors of the base rate, because few prove little. */
const rateShrinkageVisitors = 20;

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

/** Numeric columns that serve models of any of their rows: transformed, and in more bins than trees use. */
export interface PreparedNumbers {
	readonly names: readonly string[];
	readonly cuts: readonly (readonly number[])[];
	/** 0 if the number is missing. */
	readonly transformed: readonly Float32Array[];
	readonly bins: readonly Uint16Array[];
}

export function prepareNumbers({ features, numeric, rows }: Dataset): PreparedNumbers {
	const stride = Math.max(1, Math.ceil(rows / maxRowsOfColumn));
	const cuts = numeric.map((values) =>
		quantileCuts(
			values.filter((value, row) => row % stride === 0 && !Number.isNaN(value)).sort(),
			preparedBins,
		),
	);
	const bins = numeric.map(() => new Uint16Array(rows));
	const transformed = numeric.map((values, column) => {
		const ofColumn = Float64Array.from(cuts[column] as number[]);
		const binned = bins[column] as Uint16Array;
		const transformedValues = new Float32Array(rows);
		for (let row = 0; row < rows; row++) {
			const bin = binOf(ofColumn, values[row] as number);
			binned[row] = bin;
			if (bin > 0) transformedValues[row] = signedLog(values[row] as number);
		}
		return transformedValues;
	});
	return { names: features.numeric.map(({ name }) => name), cuts, transformed, bins };
}

/** The numbers of some of the rows. */
export function numbersOf(
	numbers: PreparedNumbers,
	of: <Values extends Float32Array | Uint16Array>(values: Values) => Values,
): PreparedNumbers {
	return { ...numbers, transformed: numbers.transformed.map(of), bins: numbers.bins.map(of) };
}

/** Numbers that are learned instead of labels. */
export interface Targets {
	readonly values: Float64Array;
	/** A text's mean is mixed with this many visitors of the mean of all. */
	readonly shrinkageVisitors: number;
}

/** Learns the encoding from rows. @returns it, and what encodes rows by it */
export function learnEncoding(
	{ features, categorical, texts, labels, groups }: Dataset,
	numbers: PreparedNumbers,
	targets?: Targets,
) {
	const learned = numbers.names.map((_, column) => learnNumeric(numbers, column));
	const byVisitor = features.categorical.length > 0 ? rowsByGroup(groups) : new Uint32Array();
	const values = targets?.values ?? labels;
	const encoding: Encoding = {
		numeric: learned.map((one) => one.encoding),
		categorical: features.categorical.map(({ name }, column) =>
			fitCategorical(
				name,
				texts[column] as string[],
				countVisitors(
					categorical[column] as Uint32Array,
					texts[column]?.length ?? 0,
					byVisitor,
					groups,
					values,
				),
				targets?.shrinkageVisitors,
			),
		),
	};
	const encode = (dataset: Dataset, { transformed, bins }: PreparedNumbers): EncodedRows => {
		const columns = [
			...learned.map(({ encode }, column) =>
				encode(transformed[column] as Float32Array, bins[column] as Uint16Array),
			),
			...encodeTexts(dataset, encoding),
		];
		return {
			rows: dataset.rows,
			labels: dataset.labels,
			linear: columns.map(({ linear }) => linear),
			missing: columns.map(({ bins }, column) =>
				column < learned.length ? rowsWithout(bins) : new Uint32Array(),
			),
			bins: columns.map(({ bins }) => bins),
			binCounts: [...encoding.numeric, ...encoding.categorical].map(({ cuts }) => binCount(cuts)),
		};
	};
	return { encoding, encode };
}

function learnNumeric({ names, cuts, transformed, bins }: PreparedNumbers, column: number) {
	const [values, binned] = [transformed[column] as Float32Array, bins[column] as Uint16Array];
	const counts = new Uint32Array((cuts[column] as readonly number[]).length + 2);
	let [known, sum, squares, lowest, highest] = [0, 0, 0, 0, 0];
	for (let row = 0; row < values.length; row++) {
		const bin = binned[row] as number;
		if (bin === 0) continue;
		const value = values[row] as number;
		if (known === 0 || value < lowest) lowest = value;
		if (known === 0 || value > highest) highest = value;
		(counts[bin] as number)++;
		known++;
		sum += value;
		squares += value * value;
	}
	const mean = known > 0 ? sum / known : 0;
	const variance = known > 0 ? squares / known - mean ** 2 : 0;
	const scale = variance > 1e-12 ? Math.sqrt(variance) : 1;
	const used = [...counts.keys()].filter((bin) => (counts[bin] as number) > 0);
	const ends = cutsBetween(
		used,
		used.map((bin) => counts[bin] as number),
		maxBins,
	).map(Math.floor);
	const binOfPrepared = Uint8Array.from(counts, (_, bin) => (bin === 0 ? 0 : binOf(ends, bin)));
	const encoding: NumericEncoding = {
		name: names[column] as string,
		mean,
		scale,
		lowest: inverseOfSignedLog(lowest),
		highest: inverseOfSignedLog(highest),
		cuts: ends.map((end) => cuts[column]?.[end - 1] as number),
	};
	const encode = (values: Float32Array, binned: Uint16Array) => {
		const [linear, coarse] = [new Float32Array(values.length), new Uint8Array(values.length)];
		for (let row = 0; row < values.length; row++) {
			const bin = binned[row] as number;
			if (bin === 0) continue;
			linear[row] = (Math.min(highest, Math.max(lowest, values[row] as number)) - mean) / scale;
			coarse[row] = binOfPrepared[bin] as number;
		}
		return { linear, bins: coarse };
	};
	return { encoding, encode };
}

function inverseOfSignedLog(value: number): number {
	return value < 0 ? -Math.expm1(-value) : Math.expm1(value);
}

/** Of each text, its visitors, and the sum of their mean values. */
interface TextCounts {
	readonly visitors: Uint32Array;
	readonly sums: Float64Array;
	/** Of all visitors, whatever their texts. */
	readonly mean: number;
}

/** A visitor who comes often counts once for each text, as the mean of its rows. */
function countVisitors(
	codes: Uint32Array,
	texts: number,
	byVisitor: Uint32Array,
	groups: Uint32Array,
	values: ArrayLike<number>,
): TextCounts {
	const visitors = new Uint32Array(texts);
	const sums = new Float64Array(texts);
	/** Of one visitor. */
	const rows = new Uint32Array(texts);
	let [all, sumOfAll] = [0, 0];
	for (let from = 0; from < byVisitor.length; ) {
		const group = groups[byVisitor[from] as number];
		let to = from;
		let sum = 0;
		for (; to < byVisitor.length && groups[byVisitor[to] as number] === group; to++) {
			const row = byVisitor[to] as number;
			(rows[codes[row] as number] as number)++;
			sum += values[row] as number;
		}
		all++;
		sumOfAll += sum / (to - from);
		for (let at = from; at < to; at++) {
			const row = byVisitor[at] as number;
			const code = codes[row] as number;
			(sums[code] as number) += (values[row] as number) / (rows[code] as number);
		}
		for (; from < to; from++) {
			const code = codes[byVisitor[from] as number] as number;
			if ((rows[code] as number) > 0) (visitors[code] as number)++;
			rows[code] = 0;
		}
	}
	return { visitors, sums, mean: all > 0 ? sumOfAll / all : 0 };
}

function fitCategorical(
	name: string,
	texts: readonly string[],
	{ visitors, sums, mean }: TextCounts,
	shrinkageVisitors: number | undefined,
): CategoricalEncoding {
	const rateOf = (count: number, sum: number) =>
		shrinkageVisitors === undefined
			? shrunkenRate(count, sum, mean)
			: (sum - count * mean) / (count + shrinkageVisitors);
	const kept = [...texts.keys()]
		.filter((code) => (visitors[code] as number) >= minVisitorsOfText)
		.sort((a, b) => (visitors[b] as number) - (visitors[a] as number) || a - b)
		.map((code) => ({
			text: texts[code] as string,
			visitors: visitors[code] as number,
			rate: rateOf(visitors[code] as number, sums[code] as number),
		}));
	const byRate = kept.toSorted((a, b) => a.rate - b.rate);
	const cuts = cutsBetween(
		byRate.map(({ rate }) => rate),
		byRate.map((one) => one.visitors),
		maxBins,
	);
	return { name, rates: kept.map(({ text, rate }) => [text, rate]), cuts: [...new Set(cuts)] };
}

/** A text's log-odds minus the base rate's. With fewer visitors, it is closer to 0. */
function shrunkenRate(visitors: number, conversions: number, baseRate: number): number {
	const rate = (conversions + rateShrinkageVisitors * baseRate) / (visitors + rateShrinkageVisitors);
	return logOddsOfProbability(rate) - logOddsOfProbability(baseRate);
}

function encodeTexts({ rows, categorical, texts }: Dataset, encoding: Encoding) {
	return encoding.categorical.map(({ rates, cuts }, column) => {
		const rateOf = new Map(rates);
		const rateOfCode = Float32Array.from(texts[column] as readonly string[], (text) => rateOf.get(text) ?? 0);
		const linear = valuesAt(rateOfCode, categorical[column] as Uint32Array);
		const bins = new Uint8Array(rows);
		for (let row = 0; row < rows; row++) bins[row] = binOf(cuts, linear[row] as number);
		return { linear, bins };
	});
}

/** The rows without a number. */
function rowsWithout(bins: Uint8Array): Uint32Array {
	const without: number[] = [];
	for (let row = 0; row < bins.length; row++) if (bins[row] === 0) without.push(row);
	return Uint32Array.from(without);
}
