import { recencies } from '../../../core/scoring/rows/recency.ts';
import { mean, meanOfGroups } from '../fit/measure.ts';
import type { FoldModels, Trial } from './fold-models.ts';
import { type Choice, minConversions } from './training-report.ts';

/** What models of earlier rows predict for the judged rows of a block. */
export type ComparedModels = Pick<FoldModels, 'judged' | 'baseLosses' | 'logistic' | 'boosting'>;

/** Below this, the correlation may be chance: two in a hundred models without any signal reach it. */
export const minStandardErrors = 2;
/** A signal so clear needs only most blocks of time: in one of them something unusual may have happened. */
const clearStandardErrors = 5;
/** Quantiles of Student's t for 95 %, one-sided, of one to four degrees of freedom. */
const studentsT = [6.314, 2.92, 2.353, 2.132];
/** Of log-odds. */
const leastDifference = 1e-6;
/** Tree counts are tried in steps of this size. */
const treesPerStep = 5;
const maxTrees = 400;
/** The search ends when this many counts in a row have not made later rows more likely. */
const patience = 2;

/**
 * Chooses the kind of model, and the number of trees, by the likelihood of later rows, all at the level that was known. The simpler
 * kind wins unless later rows contradict it, and the blocks of time agree. A model is served if its predictions correlate with later outcomes, and make
 * later rows more likely than the base rate does. Visitors who are present, of whom pages ask, and those who have left, who are in batches, are
 * judged by themselves, too: the gain on the ones must not hide a loss on the others.
 */
export function choose(folds: readonly ComparedModels[]): Choice {
	const logistic = lossesOf(folds.map((fold) => fold.logistic()));
	const boosting = bestBoosting(folds);
	const groups = Uint32Array.from(folds.flatMap(({ judged }) => [...judged.groups]));
	const boostingGain = meanOfGroups(difference(logistic.losses, boosting.losses), groups);
	const gains = folds.map((_, block) => lossIn(logistic, block) - lossIn(boosting, block));
	const better = gains.filter((gain) => gain > 0).length;
	const isBetter = boostingGain.low > 0 && isShownByBlocks(gains);
	const kind = isBetter ? 'boosting' : 'logistic';
	const { trials } = kind === 'boosting' ? boosting : logistic;
	const standardErrors = correlation(folds, trials);
	const gainsOf = (which?: 'present' | 'absent') => gainsOn(folds, trials, which);
	const losesOn = (['present', 'absent'] as const).find((which) => {
		const { gain, blocks, conversions } = gainsOf(which);
		return conversions >= minConversions && gain.high < 0 && 2 * blocks.worse > blocks.of;
	});
	const { gain, blocks } = gainsOf();
	const isClear = standardErrors >= clearStandardErrors && 2 * blocks.better > blocks.of;
	return {
		kind,
		trees: boosting.trees,
		logisticLogLoss: logistic.logLoss,
		boostingLogLoss: boosting.logLoss,
		boostingGain,
		boostingBlocks: { better, of: folds.length },
		standardErrors,
		...(losesOn && { losesOn }),
		serves: !losesOn && standardErrors > minStandardErrors && (gain.value > 0 || isClear),
	};
}

function lossesOf(trials: readonly Trial[]) {
	const losses = joined(trials.map((trial) => trial.losses));
	return { trials, losses, logLoss: mean(losses) };
}

/** What is gained over the base rate on the rows of all visitors, or of those who are present, or have left. */
function gainsOn(
	folds: readonly ComparedModels[],
	trials: readonly Trial[],
	which: 'present' | 'absent' | undefined,
) {
	const ofBlocks = folds.map(({ judged: { recency, groups, labels }, baseLosses }, block) => {
		const isOne = (_: unknown, row: number) =>
			which === undefined || (recency[row] === 0) === (which === 'present');
		const gains = difference(baseLosses, (trials[block] as Trial).losses).filter(isOne);
		const converted = groups.filter((one, row) => labels[row] === 1 && isOne(one, row));
		return { gains, groups: groups.filter(isOne), converted };
	});
	const means = ofBlocks.filter(({ gains }) => gains.length > 0).map(({ gains }) => mean(gains));
	return {
		conversions: new Set(ofBlocks.flatMap(({ converted }) => [...converted])).size,
		gain: meanOfGroups(
			joined(ofBlocks.map(({ gains }) => gains)),
			Uint32Array.from(ofBlocks.flatMap(({ groups }) => [...groups])),
		),
		blocks: {
			better: means.filter((one) => one > 0).length,
			worse: means.filter((one) => one < 0).length,
			of: means.length,
		},
	};
}

function lossIn({ trials }: { readonly trials: readonly Trial[] }, block: number): number {
	return mean((trials[block] as Trial).losses);
}

/**
 * Whether the gains of blocks differ from 0 beyond what tells the blocks apart. The rows of a block share its time, and so what is unusual about it,
 * which an interval of rows does not know: one block in which a model went astray is no reason for the other.
 */
function isShownByBlocks(gains: readonly number[]): boolean {
	const least = studentsT[gains.length - 2];
	const gain = mean(gains);
	if (least === undefined) return gain > 0;
	const variance = gains.reduce((sum, one) => sum + (one - gain) ** 2, 0) / (gains.length - 1);
	return gain > least * Math.sqrt(variance / gains.length);
}

/** The number of trees that makes later rows most likely. */
function bestBoosting(folds: readonly ComparedModels[]) {
	let found: ({ trees: number } & ReturnType<typeof lossesOf>) | undefined;
	let worse = 0;
	for (let trees = treesPerStep; trees <= maxTrees && worse < patience; trees += treesPerStep) {
		const tried = lossesOf(folds.map((fold) => fold.boosting(trees)));
		if (found && tried.logLoss >= found.logLoss) worse++;
		else {
			found = { trees, ...tried };
			worse = 0;
		}
	}
	return found as NonNullable<typeof found>;
}

/**
 * The score test of the base rate: the sum of (prediction − its mean) × (outcome − rate), with a visitor's rows together,
 * in standard errors. Both means are of the rows of one recency in one block, so that only visitors of the same time are
 * told apart: a rate that moves is no signal, nor is a feature that only tells the time.
 */
function correlation(folds: readonly ComparedModels[], trials: readonly Trial[]): number {
	const parts = new Map<number, number>();
	for (const [index, { judged }] of folds.entries()) {
		const predicted = (trials[index] as Trial).logOdds;
		for (const each of recencies) {
			let [rows, logOdds, conversions] = [0, 0, 0];
			for (let row = 0; row < judged.rows; row++) {
				if (judged.recency[row] !== each) continue;
				rows++;
				logOdds += predicted[row] as number;
				conversions += judged.labels[row] as number;
			}
			for (let row = 0; row < judged.rows; row++) {
				const above = (predicted[row] as number) - logOdds / rows;
				// What rounding leaves of equal predictions would be counted in standard errors of itself.
				if (judged.recency[row] !== each || Math.abs(above) < leastDifference) continue;
				const group = judged.groups[row] as number;
				const beyond = (judged.labels[row] as number) - conversions / rows;
				parts.set(group, (parts.get(group) ?? 0) + above * beyond);
			}
		}
	}
	let [sum, squares] = [0, 0];
	for (const part of parts.values()) {
		sum += part;
		squares += part ** 2;
	}
	return squares > 0 ? sum / Math.sqrt(squares) : 0;
}

/** `a` minus `b`, for each row. */
export function difference(a: Float64Array, b: Float64Array): Float64Array {
	return a.map((value, index) => value - (b[index] as number));
}

export function joined(parts: readonly Float64Array[]): Float64Array<ArrayBuffer> {
	return Float64Array.from(parts.flatMap((part) => [...part]));
}
