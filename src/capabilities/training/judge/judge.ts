import {
	auc,
	brierScore,
	calibrationTable,
	expectedCalibrationError,
	logLosses,
	mean,
	rocCurve,
} from '../fit/measure.ts';
import { type Dataset, visitorWeights } from '../rows/dataset.ts';
import { choose } from './choose.ts';
import type { FoldModels } from './fold-models.ts';
import type { BlockMeasures, Counts, LaterMeasures, RowMeasures, VisitMeasures } from './training-report.ts';

/** The first blocks only choose; the others are judged. */
const choosingBlocks = 2;

/** A judged row. */
interface JudgedRow {
	readonly label: number;
	readonly group: number;
	readonly score: number;
	/** The base rate that was known. */
	readonly base: number;
	/** The number of visits of a visitor who is present; 0 of others. */
	readonly visits: number;
	readonly isAbsent: boolean;
	/** How many hits it stands for. */
	readonly hits: number;
	readonly atMs: number;
}

/**
 * Judges the training procedure: each block is scored by what was chosen on the blocks before it, at the level known
 * then, as it would have been served. Where the base rate would have been served, the model is judged nevertheless.
 */
export function judge(folds: readonly FoldModels[]): LaterMeasures {
	const first = Math.min(choosingBlocks, folds.length - 1);
	const blocks = folds.slice(first).map((fold, index): JudgedRow[] => {
		const choice = choose(folds.slice(0, first + index));
		const { judged, base } = fold;
		const { served } = choice.kind === 'logistic' ? fold.logistic() : fold.boosting(choice.trees);
		return Array.from(judged.labels, (label, row) => {
			return {
				label,
				group: judged.groups[row] as number,
				score: served[row] as number,
				base: base[row] as number,
				isAbsent: judged.recency[row] !== 0,
				hits: judged.hits[row] as number,
				visits: judged.recency[row] === 0 ? (judged.visits[row] as number) : 0,
				atMs: judged.atMs[row] as number,
			};
		});
	});
	const rows = blocks.flat();
	const { labels, scores, groups } = columnsOf(rows);
	const weights = visitorWeights(groups);
	const table = calibrationTable(labels, scores);
	const scoreHistogram = new Array<number>(20).fill(0);
	for (const score of scores) (scoreHistogram[Math.min(19, Math.floor(score * 20))] as number)++;
	return {
		...countsOf(labels, groups),
		...measuresOf(rows),
		auc: auc(labels, scores, groups),
		brier: brierScore(labels, scores),
		expectedCalibrationError: expectedCalibrationError(table),
		calibrationTable: table,
		roc: rocCurve(labels, scores, weights),
		visitorRate: measuresOf(rows, weights).observed,
		scoreHistogram,
		blocks: blocks.map(
			(block): BlockMeasures => ({
				from: new Date(block[0]?.atMs as number).toISOString(),
				to: new Date(block.at(-1)?.atMs as number).toISOString(),
				rows: block.length,
				...measuresOf(block),
			}),
		),
		present: measuresOfVisits(rows.filter(({ visits }) => visits > 0)),
		absent: measuresOfVisits((blocks.at(-1) ?? []).filter(({ isAbsent }) => isAbsent)),
		byVisits: visitKinds.flatMap(([visit, isOf]): VisitMeasures[] => {
			const measures = measuresOfVisits(rows.filter(({ visits }) => isOf(visits)));
			return measures ? [{ visit, ...measures }] : [];
		}),
	};
}

/** Only of visitors who are present: pages ask during a visit, and who has left is easily told from who has not. */
const visitKinds = [
	['first', (count: number) => count === 1],
	['second', (count: number) => count === 2],
	['later', (count: number) => count > 2],
] as const;

function measuresOfVisits(rows: readonly JudgedRow[]): LaterMeasures['present'] {
	if (rows.length === 0) return undefined;
	const { labels, scores, groups } = columnsOf(rows);
	const { value } = auc(labels, scores);
	return {
		...countsOf(labels, groups),
		auc: Number.isNaN(value) ? null : value,
		...measuresOf(
			rows,
			// Pages ask after each hit, also of who comes so often that only some hits are rows.
			Float64Array.from(rows, ({ hits, isAbsent }) => (isAbsent ? 1 : hits)),
		),
	};
}

function columnsOf(rows: readonly JudgedRow[]) {
	return {
		labels: Uint8Array.from(rows, ({ label }) => label),
		groups: Uint32Array.from(rows, ({ group }) => group),
		scores: Float64Array.from(rows, ({ score }) => score),
	};
}

/** @param weights how much each row counts; by default, all alike */
function measuresOf(
	rows: readonly JudgedRow[],
	weights: Float64Array = new Float64Array(rows.length).fill(1),
): RowMeasures {
	const { labels, scores } = columnsOf(rows);
	const all = mean(weights);
	const weighted = (values: ArrayLike<number>) =>
		mean(weights.map((weight, row) => weight * (values[row] as number))) / all;
	const bases = Float64Array.from(rows, ({ base }) => base);
	return {
		predicted: weighted(scores),
		observed: weighted(labels),
		logLoss: weighted(logLosses(labels, scores)),
		baseRateLogLoss: weighted(logLosses(labels, bases)),
	};
}

export function countsOf(labels: Dataset['labels'], groups: Dataset['groups']): Counts {
	const converted = groups.filter((_, row) => labels[row] === 1);
	return {
		rows: labels.length,
		visitors: new Set(groups).size,
		conversions: new Set(converted).size,
		convertedRows: converted.length,
	};
}
