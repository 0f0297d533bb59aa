import { absentRow, type FeatureRow } from '../rows/features.ts';
import type { Recency } from '../rows/recency.ts';
import { logistic, logOddsOfProbability } from './log-odds.ts';
import {
	type BoostingModel,
	type LiftModel,
	type LogisticModel,
	type Model,
	modelFormat,
	type NumericEncoding,
} from './model.ts';

/** Applies a model. Creating one costs some milliseconds; `score` costs microseconds and has no state. */
export class Scorer {
	readonly model: Model;
	/** Before the level. */
	readonly logOdds: (row: FeatureRow) => number;

	constructor(model: Model) {
		if (model.format !== modelFormat) throw new Error(`unknown model format ${model.format}`);
		this.model = model;
		this.logOdds =
			model.kind === 'logistic'
				? logisticEvaluator(model)
				: model.kind === 'boosting'
					? boostingEvaluator(model)
					: () => logOddsOfProbability(model.baseRate);
	}

	/** The probability at the level of a recency. */
	score(row: FeatureRow, recency: Recency = 0): number {
		if (this.model.kind === 'prior') return this.model.baseRate;
		return logistic(this.logOdds(row) + (this.model.levels[recency] as number));
	}

	/**
	 * What groups of columns add: the row's log-odds minus those of the row without the group's facts.
	 * @param groups columns: numbers first, then texts, in the features' order; by default each column alone
	 * @param absent their values without the facts
	 */
	contributions(
		row: FeatureRow,
		groups: readonly (readonly number[])[] = this.#columns(),
		absent: FeatureRow = absentRow(this.model.features),
	): number[] {
		const numbers = absent.numeric.length;
		const whole = this.logOdds(row);
		const without = { numeric: Array.from(row.numeric), categorical: [...row.categorical] };
		const copy = (from: FeatureRow, columns: readonly number[]) => {
			for (const column of columns)
				if (column < numbers) without.numeric[column] = from.numeric[column] as number;
				else without.categorical[column - numbers] = from.categorical[column - numbers] as string;
		};
		return groups.map((columns) => {
			copy(absent, columns);
			const logOdds = whole - this.logOdds(without);
			copy(row, columns);
			return logOdds;
		});
	}

	#columns(): number[][] {
		const { numeric, categorical } = this.model.features;
		return Array.from({ length: numeric.length + categorical.length }, (_, column) => [column]);
	}
}

/** Applies a lift model: what it says being treated adds to the probability, from -1 to 1. */
export function liftOf({ parts }: LiftModel): (row: FeatureRow) => number {
	const [first, second] = parts.map(logisticEvaluator);
	if (!first) throw new Error('a lift model without parts');
	return second
		? (row) => logistic(first(row)) - logistic(second(row))
		: (row) => Math.min(1, Math.max(-1, first(row)));
}

function logisticEvaluator({ encoding, weights }: LogisticModel): (row: FeatureRow) => number {
	const { numeric, categorical } = encoding;
	const rates = categorical.map((column) => new Map(column.rates));
	return ({ numeric: numbers, categorical: texts }) => {
		let logOdds = weights.intercept;
		for (let column = 0; column < numeric.length; column++) {
			const value = numbers[column] as number;
			logOdds += Number.isNaN(value)
				? (weights.missing[column] as number)
				: (weights.linear[column] as number) *
					standardised(numeric[column] as (typeof numeric)[number], value);
		}
		for (let column = 0; column < rates.length; column++)
			logOdds +=
				(weights.linear[numeric.length + column] as number) *
				(rates[column]?.get(texts[column] as string) ?? 0);
		return logOdds;
	};
}

function boostingEvaluator({ encoding, startLogOdds, trees }: BoostingModel): (row: FeatureRow) => number {
	const numericCuts = encoding.numeric.map(({ cuts }) => Float64Array.from(cuts));
	const texts = encoding.categorical.map(({ cuts, rates }) => ({
		bins: new Map(rates.map(([text, rate]) => [text, binOf(cuts, Math.fround(rate))])),
		unseen: binOf(cuts, 0),
	}));
	const bins = new Uint8Array(numericCuts.length + texts.length);
	// All trees in flat arrays, so that walking them touches little memory.
	const starts: number[] = [];
	let nodes = 0;
	for (const tree of trees) {
		starts.push(nodes);
		nodes += tree.column.length;
	}
	const shifted = (children: readonly number[], tree: number) =>
		children.map((node) => node + (starts[tree] as number));
	const column = Int32Array.from(trees.flatMap((tree) => tree.column));
	const bin = Uint8Array.from(trees.flatMap((tree) => tree.bin));
	const left = Int32Array.from(trees.flatMap((tree, index) => shifted(tree.left, index)));
	const right = Int32Array.from(trees.flatMap((tree, index) => shifted(tree.right, index)));
	const value = Float64Array.from(trees.flatMap((tree) => tree.value));
	return (row) => {
		for (const [index, cuts] of numericCuts.entries())
			bins[index] = binOf(cuts, row.numeric[index] as number);
		for (const [index, { bins: binOfText, unseen }] of texts.entries())
			bins[numericCuts.length + index] = binOfText.get(row.categorical[index] as string) ?? unseen;
		let logOdds = startLogOdds;
		for (const start of starts) {
			let node = start;
			for (let at = column[node] as number; at >= 0; at = column[node] as number)
				node = ((bins[at] as number) <= (bin[node] as number) ? left[node] : right[node]) as number;
			logOdds += value[node] as number;
		}
		return logOdds;
	};
}

/** sign(x)·log1p|x|: compresses long tails, keeps order and sign. */
export function signedLog(value: number): number {
	return value < 0 ? -Math.log1p(-value) : Math.log1p(value);
}

/** The number as the logistic model uses it. */
export function standardised({ lowest, highest, mean, scale }: NumericEncoding, value: number): number {
	return (signedLog(Math.min(highest, Math.max(lowest, value))) - mean) / scale;
}

/** The bin of a number: 0 if it is missing, else 1 + the number of cuts below it. */
export function binOf(cuts: ArrayLike<number>, value: number): number {
	if (Number.isNaN(value)) return 0;
	let low = 0;
	let high = cuts.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (value > (cuts[middle] as number)) low = middle + 1;
		else high = middle;
	}
	return low + 1;
}
