import type { Scorer } from '../../../core/scoring/model/scorer.ts';
import { product } from '../fit/logistic.ts';
import { midRanks } from '../fit/measure.ts';
import { type Dataset, featureRows, sampleOf } from '../rows/dataset.ts';
import type { TopFeature } from './training-report.ts';

const sampledRows = 400;
const maxFeatures = 10;

/** The features that move scores most, with their direction, over rows sampled evenly over time. */
export function topFeatures(scorer: Scorer, dataset: Dataset): TopFeature[] {
	const sample = sampleOf(dataset, sampledRows);
	const { features, numeric, categorical, texts } = sample;
	const contributions = Array.from(featureRows(sample), (row) => scorer.contributions(row));
	const names = [...features.numeric, ...features.categorical].map(({ name }) => name);
	return names
		.map((name, feature): TopFeature => {
			const moves = contributions.map((row) => row[feature] as number);
			const values = numeric[feature];
			const meanLogOdds = moves.reduce((sum, move) => sum + Math.abs(move), 0) / moves.length;
			if (values) return { name, meanLogOdds, direction: directionOf(values, moves) };
			const text = feature - numeric.length;
			const ofRows = Array.from(categorical[text] as Uint32Array, (code) => texts[text]?.[code] as string);
			return { name, meanLogOdds, ...strongestText(ofRows, moves) };
		})
		.filter(({ meanLogOdds }) => meanLogOdds > 0)
		.sort((a, b) => b.meanLogOdds - a.meanLogOdds)
		.slice(0, maxFeatures);
}

/** By the rank correlation of value and contribution; missing values have no rank. */
function directionOf(values: Float32Array, moves: readonly number[]): TopFeature['direction'] {
	const known = [...values.keys()].filter((row) => !Number.isNaN(values[row]));
	const middle = (known.length + 1) / 2;
	const ranksOf = (numbers: ArrayLike<number>) =>
		midRanks(Float64Array.from(known, (row) => numbers[row] as number)).map((rank) => rank - middle);
	const [a, b] = [ranksOf(values), ranksOf(moves)];
	const correlation = product(a, b) / Math.sqrt(product(a, a) * product(b, b));
	if (correlation > 0.3) return 'raises';
	return correlation < -0.3 ? 'lowers' : 'varies';
}

function strongestText(
	texts: readonly string[],
	moves: readonly number[],
): Pick<TopFeature, 'direction' | 'text'> {
	const sums = new Map<string, number>();
	for (const [row, text] of texts.entries()) sums.set(text, (sums.get(text) ?? 0) + (moves[row] as number));
	const [strongest] = [...sums].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
	if (!strongest) return { direction: 'varies' };
	return { direction: strongest[1] > 0 ? 'raises' : 'lowers', text: strongest[0] };
}
