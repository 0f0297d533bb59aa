import { binOf, quantileCuts } from '../fit/cuts.ts';
import { type Dataset, sampleOf } from '../rows/dataset.ts';
import { type LikelyLeak, minConversions } from './report.ts';

/** The share of the base rate's log loss that no feature is expected to explain by itself. */
const nearlyAll = 0.9;
const maxBins = 20;
/** Sufficient to tell nearly all from the rest. */
const sampledRows = 5000;
/** Of a value that has nothing to do with the goal. Some hundred values are looked at. */
const maxChance = 1e-6;

/** Likely leaks among the features of rows in time order. */
export function likelyLeaks(dataset: Dataset): LikelyLeak[] {
	const sample = sampleOf(dataset, sampledRows);
	const { numeric, categorical } = dataset.features;
	return [
		...numeric.flatMap(({ name, absent }, column): LikelyLeak[] => {
			const values = dataset.numeric[column] as Float32Array;
			const has = (row: number) => !Number.isNaN(values[row]) && values[row] !== absent;
			const bins = binsOf(sample.numeric[column] as Float32Array);
			return leaksOf(dataset, sample, bins, [{ feature: name, has }]);
		}),
		...categorical.flatMap(({ name }, column): LikelyLeak[] => {
			const codes = dataset.categorical[column] as Uint32Array;
			const texts = dataset.texts[column] as readonly string[];
			const values = texts.map((text, code) => ({
				...{ feature: name, text },
				has: (row: number) => codes[row] === code,
			}));
			return leaksOf(dataset, sample, sample.categorical[column] as Uint32Array, values);
		}),
	];
}

interface Value extends Pick<LikelyLeak, 'feature' | 'text'> {
	readonly has: (row: number) => boolean;
}

function leaksOf(
	dataset: Dataset,
	sample: Dataset,
	bins: ArrayLike<number>,
	values: readonly Value[],
): LikelyLeak[] {
	const [first] = values;
	if (first && explainedShare(sample.labels, bins) > nearlyAll)
		return [{ feature: first.feature, why: 'explains nearly all', visitors: new Set(dataset.groups).size }];
	return values.flatMap(({ has, ...value }): LikelyLeak[] => {
		const visitors = convertersWith(dataset, has);
		return visitors === undefined ? [] : [{ ...value, why: 'only converters', visitors }];
	});
}

function binsOf(values: Float32Array): Uint32Array {
	const cuts = quantileCuts(values.filter((value) => !Number.isNaN(value)).sort(), maxBins);
	return Uint32Array.from(values, (value) => binOf(cuts, value));
}

/** The share of the base rate's log loss that the rates of bins save. A row more with the base rate is in each bin. */
function explainedShare(labels: Uint8Array, bins: ArrayLike<number>): number {
	const rows = new Map<number, { count: number; conversions: number }>();
	let conversions = 0;
	for (const [row, label] of labels.entries()) {
		const bin = rows.get(bins[row] as number) ?? { count: 0, conversions: 0 };
		bin.count++;
		bin.conversions += label;
		conversions += label;
		rows.set(bins[row] as number, bin);
	}
	const base = conversions / labels.length;
	const lossOf = (count: number, converted: number, rate: number) =>
		-(converted === 0 ? 0 : converted * Math.log(rate)) -
		(converted === count ? 0 : (count - converted) * Math.log(1 - rate));
	const ofBase = lossOf(labels.length, conversions, base);
	let ofBins = 0;
	for (const bin of rows.values())
		ofBins += lossOf(bin.count, bin.conversions, (bin.conversions + base) / (bin.count + 1));
	return ofBase > 0 ? 1 - ofBins / ofBase : 0;
}

/**
 * How many visitors have a value, if each converts within the horizon of the first row that has it, and chance does not
 * explain that. Later rows do not count: who has converted may keep it.
 */
function convertersWith(
	{ labels, groups, rows }: Dataset,
	has: (row: number) => boolean,
): number | undefined {
	const seen = new Set<number>();
	let conversions = 0;
	for (let row = 0; row < rows; row++) {
		conversions += labels[row] as number;
		const group = groups[row] as number;
		if (!has(row) || seen.has(group)) continue;
		if (labels[row] === 0) return undefined;
		seen.add(group);
	}
	const isChance = (conversions / rows) ** seen.size > maxChance;
	return seen.size < minConversions || isChance ? undefined : seen.size;
}
