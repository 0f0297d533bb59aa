import { absentRow, type FeatureRow } from '../rows/features.ts';
import type { Recency } from '../rows/recency.ts';
import { binOf } from './cuts.ts';
import { type Encoding, standardised } from './encoding.ts';
import { logistic, logOddsOfProbability } from './measure.ts';
import { type BoostingModel, type LogisticModel, type Model, modelFormat } from './model.ts';

/** How much a feature adds to a row's log-odds, compared with the absence of its fact. */
export interface Contribution {
	readonly name: string;
	readonly logOdds: number;
}

/** Applies a model. Creating one costs some milliseconds; `score` costs microseconds and has no state. */
export class Scorer {
	readonly model: Model;
	readonly #logOdds: (row: FeatureRow) => number;

	constructor(model: Model) {
		if (model.format !== modelFormat) throw new Error(`unknown model format ${model.format}`);
		this.model = model;
		this.#logOdds =
			model.kind === 'logistic'
				? logisticEvaluator(model)
				: model.kind === 'boosting'
					? boostingEvaluator(model)
					: () => logOddsOfProbability(model.baseRate);
	}

	/** Before the level. */
	logOdds(row: FeatureRow): number {
		return this.#logOdds(row);
	}

	/** The probability at the level of a recency. */
	score(row: FeatureRow, recency: Recency = 0): number {
		if (this.model.kind === 'prior') return this.model.baseRate;
		const level = this.model.levels[recency] as number | null;
		return level === null ? (this.model.rates[recency] as number) : logistic(this.#logOdds(row) + level);
	}

	/**
	 * What each feature adds, in the features' order: the row's log-odds minus those of the row without the fact.
	 */
	contributions(row: FeatureRow): Contribution[] {
		const { features } = this.model;
		const whole = this.#logOdds(row);
		const absent = absentRow(features);
		const numeric = Array.from(row.numeric);
		const categorical = [...row.categorical];
		const without = { numeric, categorical };
		const contributions: Contribution[] = [];
		for (const [column, { name }] of features.numeric.entries()) {
			numeric[column] = absent.numeric[column] as number;
			contributions.push({ name, logOdds: whole - this.#logOdds(without) });
			numeric[column] = row.numeric[column] as number;
		}
		for (const [column, { name }] of features.categorical.entries()) {
			categorical[column] = absent.categorical[column] as string;
			contributions.push({ name, logOdds: whole - this.#logOdds(without) });
			categorical[column] = row.categorical[column] as string;
		}
		return contributions;
	}

	/**
	 * What groups of columns add: the row's log-odds minus those of the row without the group's facts.
	 * @param groups columns: numbers first, then texts, in the features' order
	 * @param absent their values without the facts
	 */
	groupContributions(
		row: FeatureRow,
		groups: readonly (readonly number[])[],
		absent: FeatureRow = absentRow(this.model.features),
	): number[] {
		const numbers = absent.numeric.length;
		const whole = this.#logOdds(row);
		const without = { numeric: Array.from(row.numeric), categorical: [...row.categorical] };
		const copy = (from: FeatureRow, columns: readonly number[]) => {
			for (const column of columns)
				if (column < numbers) without.numeric[column] = from.numeric[column] as number;
				else without.categorical[column - numbers] = from.categorical[column - numbers] as string;
		};
		return groups.map((columns) => {
			copy(absent, columns);
			const logOdds = whole - this.#logOdds(without);
			copy(row, columns);
			return logOdds;
		});
	}
}

function logisticEvaluator({ encoding, weights }: LogisticModel): (row: FeatureRow) => number {
	const numeric = encoding.numeric.map((column, index) => {
		const slotWeights = weights.slots[index] as readonly number[];
		return {
			cuts: Float64Array.from(column.cuts),
			column,
			slope: weights.linear[index] as number,
			binWeights: Float64Array.from(column.slotOfBin, (slot) => slotWeights[slot] as number),
		};
	});
	const categorical = encoding.categorical.map((column, index) => {
		const slotWeights = weights.slots[encoding.numeric.length + index] as readonly number[];
		const slope = weights.linear[encoding.numeric.length + index] as number;
		const unseen = slotWeights[0] as number;
		const added = new Map(column.rates.map(([text, rate]) => [text, unseen + slope * rate]));
		for (const [slot, text] of column.frequent.entries()) added.set(text, slotWeights[slot + 1] as number);
		return { added, unseen };
	});
	return (row) => {
		let logOdds = weights.intercept;
		for (let column = 0; column < numeric.length; column++) {
			const { cuts, column: encoded, slope, binWeights } = numeric[column] as (typeof numeric)[number];
			const value = row.numeric[column] as number;
			const bin = binOf(cuts, value);
			logOdds += binWeights[bin] as number;
			if (bin !== 0) logOdds += slope * standardised(encoded, value);
		}
		for (let column = 0; column < categorical.length; column++) {
			const { added, unseen } = categorical[column] as (typeof categorical)[number];
			logOdds += added.get(row.categorical[column] as string) ?? unseen;
		}
		return logOdds;
	};
}

/** Computes the fine bins of rows. Returns the same array every time. */
function binner(encoding: Encoding): (row: FeatureRow) => Uint8Array {
	const numericCuts = encoding.numeric.map(({ cuts }) => Float64Array.from(cuts));
	const categorical = encoding.categorical.map(({ cuts, rates }) => ({
		bins: new Map(rates.map(([text, rate]) => [text, binOf(cuts, Math.fround(rate))])),
		unseen: binOf(cuts, 0),
	}));
	const bins = new Uint8Array(numericCuts.length + categorical.length);
	return (row) => {
		for (let column = 0; column < numericCuts.length; column++)
			bins[column] = binOf(numericCuts[column] as Float64Array, row.numeric[column] as number);
		for (let column = 0; column < categorical.length; column++) {
			const { bins: binOfText, unseen } = categorical[column] as (typeof categorical)[number];
			bins[numericCuts.length + column] = binOfText.get(row.categorical[column] as string) ?? unseen;
		}
		return bins;
	};
}

function boostingEvaluator({ encoding, startLogOdds, trees }: BoostingModel): (row: FeatureRow) => number {
	const toBins = binner(encoding);
	const starts: number[] = [];
	let nodes = 0;
	for (const tree of trees) {
		starts.push(nodes);
		nodes += tree.column.length;
	}
	// All trees in flat arrays, so that walking them touches little memory.
	const column = Int32Array.from(trees.flatMap((tree) => tree.column));
	const bin = Uint8Array.from(trees.flatMap((tree) => tree.bin));
	const left = Int32Array.from(
		trees.flatMap((tree, i) => tree.left.map((node) => node + (starts[i] as number))),
	);
	const right = Int32Array.from(
		trees.flatMap((tree, i) => tree.right.map((node) => node + (starts[i] as number))),
	);
	const value = Float64Array.from(trees.flatMap((tree) => tree.value));
	return (row) => {
		const bins = toBins(row);
		let logOdds = startLogOdds;
		for (let tree = 0; tree < starts.length; tree++) {
			let node = starts[tree] as number;
			for (let at = column[node] as number; at >= 0; at = column[node] as number)
				node = ((bins[at] as number) <= (bin[node] as number) ? left[node] : right[node]) as number;
			logOdds += value[node] as number;
		}
		return logOdds;
	};
}
