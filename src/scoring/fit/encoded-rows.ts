import type { Dataset } from '../rows/dataset.ts';
import { binCount, binOf } from './cuts.ts';
import { baseRateOf, type Encoding, shrunkenRate, standardised } from './encoding.ts';

/** Rows as the models read them, by column: numeric columns first, then categorical ones. */
export interface EncodedRows {
	readonly rows: number;
	readonly labels: Uint8Array;
	/** One number per row: the transformed number, or a rare text's rate. */
	readonly linear: readonly Float32Array[];
	/** One coarse bin or frequent text per row. */
	readonly slots: readonly Uint8Array[];
	readonly slotCounts: readonly number[];
	/** One fine bin per row. */
	readonly bins: readonly Uint8Array[];
	readonly binCounts: readonly number[];
}

/**
 * Encodes rows. With `fitted`, these are the rows that the encoding was learned from, in the same order, and a rare
 * text's rate counts only earlier rows: no row may see its own outcome.
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
		binCounts: [] as number[],
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
		encoded.binCounts.push(binCount(numeric.cuts));
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
		encoded.binCounts.push(binCount(categorical.cuts));
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
	const baseRate = baseRateOf(labels);
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
