import { binOf } from '../../../core/scoring/model/scorer.ts';
import { quantileCuts } from '../fit/cuts.ts';
import { type Dataset, sampleOf, visitorWeights } from '../rows/dataset.ts';
import { type LikelyLeak, minConversions } from './training-report.ts';

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
	const known = { dataset, sample, weights: visitorWeights(sample.groups), base: visitorMean(dataset) };
	const { numeric, categorical } = dataset.features;
	return [
		...numeric.flatMap(({ name, absent }, column): LikelyLeak[] => {
			const values = dataset.numeric[column] as Float32Array;
			const has = (row: number) => !Number.isNaN(values[row]) && values[row] !== absent;
			const bins = binsOf(sample.numeric[column] as Float32Array);
			return leaksOf(known, bins, [{ feature: name, has }]);
		}),
		...categorical.flatMap(({ name }, column): LikelyLeak[] => {
			const codes = dataset.categorical[column] as Uint32Array;
			const texts = dataset.texts[column] as readonly string[];
			const values = texts.map((text, code) => ({
				feature: name,
				text,
				has: (row: number) => codes[row] === code,
			}));
			return leaksOf(known, sample.categorical[column] as Uint32Array, values);
		}),
	];
}

interface Value extends Pick<LikelyLeak, 'feature' | 'text'> {
	readonly has: (row: number) => boolean;
}

interface LeakSearch {
	readonly dataset: Dataset;
	readonly sample: Dataset;
	/** Of the sample's rows. */
	readonly weights: Float64Array;
	/** The base rate of visitors. */
	readonly base: number;
}

function visitorMean({ groups, labels }: Dataset): number {
	const weights = visitorWeights(groups);
	const sum = weights.reduce((total, weight, row) => total + weight * (labels[row] as number), 0);
	return sum / weights.reduce((total, weight) => total + weight, 0);
}

function leaksOf(
	{ dataset, sample, weights, base }: LeakSearch,
	bins: ArrayLike<number>,
	values: readonly Value[],
): LikelyLeak[] {
	const [first] = values;
	if (first && explainedShare(sample.labels, weights, bins) > nearlyAll)
		return [{ feature: first.feature, why: 'explains nearly all', visitors: new Set(dataset.groups).size }];
	return values.flatMap(({ has, ...value }): LikelyLeak[] => {
		const visitors = convertersWith(dataset, base, has);
		return visitors === undefined ? [] : [{ ...value, why: 'only converters', visitors }];
	});
}

function binsOf(values: Float32Array): Uint32Array {
	const cuts = quantileCuts(values.filter((value) => !Number.isNaN(value)).sort(), maxBins);
	return Uint32Array.from(values, (value) => binOf(cuts, value));
}

/** The share of the base rate's log loss that the rates of bins save. A visitor more with the base rate is in each bin. */
function explainedShare(labels: Uint8Array, weights: Float64Array, bins: ArrayLike<number>): number {
	const all = weights.reduce((sum, weight) => sum + weight, 0);
	const base = weights.reduce((sum, weight, row) => sum + weight * (labels[row] as number), 0) / all;
	const counts = new Map<number, [others: number, conversions: number]>();
	for (let row = 0; row < labels.length; row++) {
		const count = counts.getOrInsertComputed(bins[row] as number, () => [0, 0]);
		(count[labels[row] as 0 | 1] as number) += weights[row] as number;
	}
	const lossAt = (rate: number, others: number, conversions: number) =>
		-(others > 0 ? others * Math.log(1 - rate) : 0) - (conversions > 0 ? conversions * Math.log(rate) : 0);
	let [loss, baseLoss] = [0, 0];
	for (const [others, conversions] of counts.values()) {
		loss += lossAt((conversions + base) / (others + conversions + 1), others, conversions);
		baseLoss += lossAt(base, others, conversions);
	}
	return 1 - loss / baseLoss;
}

/**
 * How many visitors have a value, if each converts within the horizon of the first row that has it, and chance does not
 * explain that. Later rows do not count: who has converted may keep it.
 */
function convertersWith(
	{ labels, groups, rows }: Dataset,
	base: number,
	has: (row: number) => boolean,
): number | undefined {
	const seen = new Set<number>();
	for (let row = 0; row < rows; row++) {
		const group = groups[row] as number;
		if (!has(row) || seen.has(group)) continue;
		if (labels[row] === 0) return undefined;
		seen.add(group);
	}
	if (seen.size < minConversions) return undefined;
	return base ** seen.size > maxChance ? undefined : seen.size;
}
