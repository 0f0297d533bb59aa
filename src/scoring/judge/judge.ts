import {
	auc,
	brierScore,
	calibrationTable,
	expectedCalibrationError,
	logistic,
	logLoss,
	mean,
	rocCurve,
} from '../fit/measure.ts';
import type { Dataset } from '../rows/dataset.ts';
import { baseLogOdds, joined, type PreparedFold, servedLogOdds } from './candidates.ts';
import { choose } from './choose.ts';
import type { Fold } from './folds.ts';
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
): LaterMeasures {
	const first = Math.min(choosingBlocks, prepared.length - 1);
	const blocks = prepared.slice(first).map((fold, index) => {
		const choice = choose(prepared.slice(0, first + index));
		const { path, judged } = fold;
		const raw = choice.kind === 'logistic' ? path.logistic(choice.strength) : path.boosting(choice.trees);
		const base = baseLogOdds(fold);
		const servesNone = !choice.serves.includes(true);
		const served = servedLogOdds(fold, raw).map((value, row) =>
			servesNone || choice.serves[judged.recency[row] as number] ? value : (base[row] as number),
		);
		return { judged, scores: served.map(logistic), base: base.map(logistic) };
	});
	const labels = Uint8Array.from(blocks.flatMap(({ judged }) => Array.from(judged.labels)));
	const groups = Uint32Array.from(blocks.flatMap(({ judged }) => Array.from(judged.groups)));
	const scores = joined(blocks.map((block) => block.scores));
	const base = joined(blocks.map((block) => block.base));
	const table = calibrationTable(labels, scores);
	const scoreHistogram = new Array<number>(20).fill(0);
	for (const score of scores) (scoreHistogram[Math.min(19, Math.floor(score * 20))] as number)++;
	// Only of visitors who are present: pages ask during a visit, and who has left is easily told from who has not.
	const visits = folds.slice(first).flatMap(({ span, judgedFrom }, index) => {
		const recency = blocks[index]?.judged.recency;
		return Array.from(dataset.visits(span.subarray(judgedFrom)), (count, row) =>
			recency?.[row] === 0 ? count : 0,
		);
	});
	return {
		rows: labels.length,
		conversions: labels.reduce((sum, label) => sum + label, 0),
		...{ predicted: mean(scores), observed: mean(labels) },
		auc: auc(labels, scores, groups),
		logLoss: logLoss(labels, scores),
		baseRateLogLoss: logLoss(labels, base),
		brier: brierScore(labels, scores),
		expectedCalibrationError: expectedCalibrationError(table),
		calibrationTable: table,
		roc: rocCurve(labels, scores),
		scoreHistogram,
		blocks: blocks.map(
			({ judged, ...block }): BlockMeasures => ({
				from: new Date(judged.atMs[0] as number).toISOString(),
				to: new Date(judged.atMs.at(-1) as number).toISOString(),
				...{ rows: judged.labels.length, predicted: mean(block.scores), observed: mean(judged.labels) },
				logLoss: logLoss(judged.labels, block.scores),
				baseRateLogLoss: logLoss(judged.labels, block.base),
			}),
		),
		byVisits: byVisits(visits, labels, scores, base),
	};
}

function byVisits(
	visits: readonly number[],
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
				...{ visit, rows: ofLabels.length, conversions: ofLabels.reduce((sum, label) => sum + label, 0) },
				auc: Number.isNaN(value) ? null : value,
				logLoss: logLoss(ofLabels, ofScores),
				baseRateLogLoss: logLoss(ofLabels, of(base)),
			},
		];
	});
}
