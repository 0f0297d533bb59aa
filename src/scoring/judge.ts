import { fitPlatt } from './calibrate.ts';
import { asItIs, baseRateAlone, joined, type PreparedFold, servedLogOdds } from './candidates.ts';
import { type Choice, choose, laterGroups } from './choose.ts';
import type { Dataset } from './dataset.ts';
import type { Fold } from './folds.ts';
import {
	auc,
	brierScore,
	calibrationTable,
	expectedCalibrationError,
	logistic,
	logLoss,
	mean,
	rocCurve,
} from './measure.ts';
import type { BlockMeasures, LaterMeasures, VisitMeasures } from './report.ts';

/** The first blocks only choose; the others are judged. */
const choosingBlocks = 2;

/**
 * Judges the training procedure: each block is scored by what was chosen on the blocks before it, at the level known
 * then, as it would have been served. Where the base rate would have been served, the model is judged nevertheless.
 */
export function judge(
	dataset: Dataset,
	folds: readonly Fold[],
	prepared: readonly PreparedFold[],
	random: () => number,
): LaterMeasures {
	const first = Math.min(choosingBlocks, prepared.length - 1);
	const blocks = prepared.slice(first).map((fold, index) => {
		const choice = choose(prepared.slice(0, first + index), random);
		const { path } = fold;
		const raw = choice.kind === 'logistic' ? path.logistic(choice.strength) : path.boosting(choice.trees);
		return {
			fold,
			logOdds: servedLogOdds(fold, raw, servedSlopes(choice)),
			base: servedLogOdds(fold, raw, baseRateAlone).map(logistic),
		};
	});
	const judged = blocks.map(({ fold }) => fold);
	const labels = Uint8Array.from(judged.flatMap((fold) => Array.from(fold.labels)));
	const logOdds = joined(blocks.map((block) => block.logOdds));
	const base = joined(blocks.map((block) => block.base));
	const scores = logOdds.map(logistic);
	const table = calibrationTable(labels, scores);
	const scoreHistogram = new Array<number>(20).fill(0);
	for (const score of scores) (scoreHistogram[Math.min(19, Math.floor(score * 20))] as number)++;
	const rows = folds.slice(first).map(({ span, pieces }) => span.subarray(pieces[0]?.from));
	return {
		rows: labels.length,
		conversions: labels.reduce((sum, label) => sum + label, 0),
		auc: auc(labels, scores, laterGroups(judged)),
		logLoss: logLoss(labels, scores),
		baseRateLogLoss: logLoss(labels, base),
		brier: brierScore(labels, scores),
		expectedCalibrationError: expectedCalibrationError(table),
		calibrationTable: table,
		calibrationSlope: fitPlatt(labels, logOdds).slope,
		roc: rocCurve(labels, scores),
		scoreHistogram,
		blocks: blocks.map(({ fold, logOdds: said, base: baseRate }, index) =>
			blockMeasures(dataset.atMs(rows[index] as Uint32Array), fold.labels, said.map(logistic), baseRate),
		),
		byVisits: byVisits(
			presentVisits(
				Uint8Array.from(rows.flatMap((some) => Array.from(dataset.visits(some)))),
				Uint8Array.from(judged.flatMap(({ recency }) => Array.from(recency))),
			),
			labels,
			scores,
			base,
		),
	};
}

/** Where the base rate would have been served, the model's slopes. */
function servedSlopes({ slopes }: Choice): readonly number[] {
	return slopes.some((slope) => slope > 0) ? slopes : asItIs;
}

function blockMeasures(
	atMs: Float64Array,
	labels: Uint8Array,
	scores: Float64Array,
	base: Float64Array,
): BlockMeasures {
	return {
		from: new Date(atMs[0] as number).toISOString(),
		to: new Date(atMs.at(-1) as number).toISOString(),
		rows: labels.length,
		said: mean(scores),
		came: mean(labels),
		logLoss: logLoss(labels, scores),
		baseRateLogLoss: logLoss(labels, base),
	};
}

/** 0 for visitors who have left: pages ask during a visit, and who has left is easily told from who has not. */
function presentVisits(visits: Uint8Array, recency: Uint8Array): Uint8Array {
	return visits.map((count, row) => (recency[row] === 0 ? count : 0));
}

function byVisits(
	visits: Uint8Array,
	labels: Uint8Array,
	scores: Float64Array,
	base: Float64Array,
): VisitMeasures[] {
	const kinds = [
		['first', (count: number) => count === 1],
		['second', (count: number) => count === 2],
		['later', (count: number) => count > 2],
	] as const;
	return kinds.flatMap(([visit, isOf]) => {
		const of = <Values extends Uint8Array | Float64Array>(values: Values) =>
			values.filter((_, row) => isOf(visits[row] as number)) as Values;
		const [ofLabels, ofScores] = [of(labels), of(scores)];
		if (ofLabels.length === 0) return [];
		const { value } = auc(ofLabels, ofScores);
		return [
			{
				visit,
				rows: ofLabels.length,
				conversions: ofLabels.reduce((sum, label) => sum + label, 0),
				auc: Number.isNaN(value) ? null : value,
				logLoss: logLoss(ofLabels, ofScores),
				baseRateLogLoss: logLoss(ofLabels, of(base)),
			},
		];
	});
}
