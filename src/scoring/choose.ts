import { bootstrapMean } from './bootstrap.ts';
import {
	bestStrength,
	bestTreeCount,
	foldLosses,
	joined,
	laterLosses,
	type PreparedFold,
	servedLogOdds,
} from './candidates.ts';
import { type Interval, mean } from './measure.ts';
import { recencies } from './recency.ts';

/** What was chosen on later rows, why, and the chosen models' predictions for these rows. */
export interface Choice {
	readonly kind: 'logistic' | 'boosting';
	readonly strength: number;
	readonly trees: number;
	readonly logisticLogLoss: number;
	readonly boostingLogLoss: number;
	/** How much boosting reduces the mean log loss of a later row. */
	readonly boostingGain: Interval;
	readonly shape: Shape;
	readonly signal: Signal;
	/** The models' log-odds for each fold's span. */
	readonly logOdds: readonly Float64Array[];
	/** The factor of the model's log-odds for each recency; 0 serves the base rate. */
	readonly slopes: readonly number[];
}

/** Whether scores are spread correctly. */
export interface Shape {
	/** 1 unless another slope pays. */
	readonly slope: number;
	/** The slope that was tried, and how much it reduces the mean log loss of blocks that did not choose it. */
	readonly triedSlope: number;
	readonly gain: number;
	readonly blocksThatGain: number;
	readonly blocks: number;
}

/** Whether a model predicts anything about later rows. */
export interface Signal {
	/** The correlation of predictions and outcomes in standard errors; a visitor counts once. */
	readonly standardErrors: number;
	/** The share of the model's log-odds that is served, for each recency. */
	readonly shares: readonly number[];
}

const slopes = Array.from({ length: 15 }, (_, step) => (step + 1) / 10);
/** Below this, the correlation may be chance: two in a hundred models without any signal reach it. */
export const minStandardErrors = 2;
/** The same of a recency. There are three, so each must reach more, or six in a hundred accounts would serve one by chance. */
export const minOwnStandardErrors = 2.5;
/** Of log-odds. */
const leastDifference = 1e-6;
/** With fewer visitors, a recency uses the share of all. */
const minVisitors = 30;

/**
 * Chooses the kind of model, its setting and the slope of its scores by the likelihood of later rows, all at the level
 * that was known. The simpler choice wins unless later rows contradict it: logistic before boosting, no slope before a
 * slope.
 */
export function choose(folds: readonly PreparedFold[], random: () => number): Choice {
	const logisticModel = bestStrength(folds);
	const boosting = bestTreeCount(folds);
	const boostingGain = bootstrapMean(
		difference(laterLosses(folds, logisticModel.logOdds), laterLosses(folds, boosting.logOdds)),
		laterGroups(folds),
		random,
	);
	const kind = boostingGain.low > 0 ? 'boosting' : 'logistic';
	const { logOdds } = kind === 'boosting' ? boosting : logisticModel;
	const shape = chooseShape(folds, logOdds);
	const signal = signalOf(folds, logOdds);
	return {
		kind,
		strength: logisticModel.setting,
		trees: boosting.setting,
		logisticLogLoss: logisticModel.logLoss,
		boostingLogLoss: boosting.logLoss,
		boostingGain,
		...{ shape, signal, logOdds },
		slopes: signal.shares.map((share) => shape.slope * share),
	};
}

/** A slope pays if most blocks gain by the slope that the others chose, and the total gain is significant. */
function chooseShape(folds: readonly PreparedFold[], logOdds: readonly Float64Array[]): Shape {
	const losses = slopes.map((slope) =>
		folds.map((fold, index) =>
			foldLosses(fold, servedLogOdds(fold, logOdds[index] as Float64Array, [slope, slope, slope])),
		),
	);
	const sums = losses.map((ofSlope) => ofSlope.map((values) => values.reduce((sum, loss) => sum + loss, 0)));
	const bestOn = (isTaken: (fold: number) => boolean) => {
		const totals = sums.map((ofSlope) =>
			ofSlope.reduce((sum, loss, fold) => sum + (isTaken(fold) ? loss : 0), 0),
		);
		return totals.indexOf(Math.min(...totals));
	};
	const unchanged = slopes.indexOf(1);
	const gains = folds.map((_, fold) => {
		const best = bestOn((other) => other !== fold);
		return difference(losses[unchanged]?.[fold] as Float64Array, losses[best]?.[fold] as Float64Array);
	});
	const blocksThatGain = gains.filter((values) => mean(values) > 0).length;
	const all = joined(gains);
	const gain = mean(all);
	const pays =
		folds.length > 2 &&
		blocksThatGain > folds.length / 2 &&
		gain > 2 * standardError(all, laterGroups(folds));
	const triedSlope = slopes[bestOn(() => true)] as number;
	return {
		slope: pays ? triedSlope : 1,
		...{ triedSlope, gain, blocksThatGain, blocks: folds.length },
	};
}

/**
 * The score test of a slope of 0, the base rate, against a larger one: the sum of (prediction − its mean) × (outcome −
 * rate), with a visitor's rows together. Both means are of the rows of one recency in one piece of time, so that only
 * visitors of the same time are told apart: a rate that moves is no signal, nor is a feature that only tells the time. All
 * recencies together decide whether anything is served. Each recency decides its own share, by James–Stein shrinkage: the
 * less certain, the closer to the base rate, and none without a signal of its own.
 */
function signalOf(folds: readonly PreparedFold[], logOdds: readonly Float64Array[]): Signal {
	const sums = [...recencies, 'all'].map(() => new Map<number, number>());
	const add = (to: Map<number, number> | undefined, group: number, part: number) =>
		to?.set(group, (to.get(group) ?? 0) + part);
	for (const [index, { span, labels, groups, recency }] of folds.entries()) {
		const said = (logOdds[index] as Float64Array).subarray(span.rows - labels.length);
		for (const each of recencies) {
			const rows = [...labels.keys()].filter((row) => recency[row] === each);
			const middle = mean(rows.map((row) => said[row] as number));
			const rate = mean(rows.map((row) => labels[row] as number));
			for (const row of rows) {
				const above = (said[row] as number) - middle;
				// What rounding leaves of equal predictions would be counted in standard errors of itself.
				if (Math.abs(above) < leastDifference) continue;
				const part = above * ((labels[row] as number) - rate);
				for (const to of [each, recencies.length]) add(sums[to], groups[row] as number, part);
			}
		}
	}
	const errors = sums.map(standardErrors);
	const all = errors[recencies.length] as number;
	// A recency with too few visitors uses the share of all.
	const enough = sums.map((ofOne) => ofOne.size >= minVisitors);
	return {
		standardErrors: all,
		shares: recencies.map((recency) => {
			const own = (enough[recency] ? errors[recency] : all) as number;
			return all > minStandardErrors && own > minOwnStandardErrors ? 1 - 1 / own ** 2 : 0;
		}),
	};
}

/** How many standard errors a sum is above 0. */
function standardErrors(parts: ReadonlyMap<number, number>): number {
	let [sum, squares] = [0, 0];
	for (const part of parts.values()) {
		sum += part;
		squares += part ** 2;
	}
	return squares > 0 ? sum / Math.sqrt(squares) : 0;
}

/** The standard error of a mean of grouped values. */
function standardError(values: Float64Array, groups: Uint32Array): number {
	const middle = mean(values);
	const sums = new Map<number, number>();
	for (const [index, value] of values.entries()) {
		const group = groups[index] as number;
		sums.set(group, (sums.get(group) ?? 0) + value - middle);
	}
	return Math.sqrt(sums.values().reduce((total, sum) => total + sum ** 2, 0)) / values.length;
}

/** The groups of all later rows, fold after fold. */
export function laterGroups(folds: readonly PreparedFold[]): Uint32Array {
	return Uint32Array.from(folds.flatMap((fold) => Array.from(fold.groups)));
}

/** `a` minus `b`, for each row. */
export function difference(a: Float64Array, b: Float64Array): Float64Array {
	return a.map((value, index) => value - (b[index] as number));
}
