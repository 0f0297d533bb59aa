import type { Model } from '../fit/model.ts';
import { Scorer } from '../fit/scorer.ts';
import { type Dataset, datasetRows } from '../rows/dataset.ts';
import { downsample } from './folds.ts';
import type { TopFeature } from './report.ts';

const sampledRows = 1000;
const maxFeatures = 10;

/** The features that move scores most, with their direction, over rows sampled evenly over time. */
export function topFeatures(model: Model, dataset: Dataset, order: Uint32Array): TopFeature[] {
	const rows = downsample(order, sampledRows);
	const { features } = dataset;
	const numbers = features.numeric.map((_, column) => dataset.numeric(column, rows));
	const texts = features.categorical.map((_, column) =>
		Array.from(dataset.categorical(column, rows), (code) => dataset.texts(column)[code] as string),
	);
	const scorer = new Scorer(model);
	const contributions = Array.from(datasetRows(dataset, rows), (row) => scorer.contributions(row));
	const names = [...features.numeric, ...features.categorical].map(({ name }) => name);
	return names
		.map((name, feature): TopFeature => {
			const moves = contributions.map((row) => row[feature]?.logOdds ?? 0);
			const values = numbers[feature];
			const meanLogOdds = moves.reduce((sum, move) => sum + Math.abs(move), 0) / moves.length;
			return values
				? { name, meanLogOdds, direction: directionOf(values, moves) }
				: { name, meanLogOdds, ...strongestText(texts[feature - numbers.length] as string[], moves) };
		})
		.filter(({ meanLogOdds }) => meanLogOdds > 0)
		.sort((a, b) => b.meanLogOdds - a.meanLogOdds)
		.slice(0, maxFeatures);
}

/** By the rank correlation of value and contribution; missing values have no rank. */
function directionOf(values: Float32Array, moves: readonly number[]): TopFeature['direction'] {
	const known = [...values.keys()].filter((row) => !Number.isNaN(values[row]));
	const valueRanks = ranksOf(known.map((row) => values[row] as number));
	const moveRanks = ranksOf(known.map((row) => moves[row] as number));
	const middle = (known.length + 1) / 2;
	let [together, valueSpread, moveSpread] = [0, 0, 0];
	for (const [index, rank] of valueRanks.entries()) {
		const [a, b] = [rank - middle, (moveRanks[index] as number) - middle];
		together += a * b;
		valueSpread += a * a;
		moveSpread += b * b;
	}
	const correlation = together / Math.sqrt(valueSpread * moveSpread);
	if (correlation > 0.3) return 'raises';
	return correlation < -0.3 ? 'lowers' : 'varies';
}

function ranksOf(values: readonly number[]): number[] {
	const sorted = [...values].sort((a, b) => a - b);
	const first = new Map<number, number>();
	const last = new Map<number, number>();
	for (const [index, value] of sorted.entries()) {
		if (!first.has(value)) first.set(value, index + 1);
		last.set(value, index + 1);
	}
	return values.map((value) => ((first.get(value) as number) + (last.get(value) as number)) / 2);
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
