import { featureText } from '../../../core/scoring/rows/known-features.ts';
import type { TrainingReport } from '../judge/training-report.ts';
import { conversionsText, directionText, fixed, percent, withInterval } from './report-text.ts';

/** Rows of figures, by the name of their column. The command line prints them, and pages draw them. */
export type FigureRows = readonly Readonly<Record<string, string | number>>[];

export interface FigureTable {
	readonly title: string;
	readonly rows: FigureRows;
}

/** The figures of a report by their name. */
export function figuresOf({ later, ...report }: TrainingReport): Readonly<Record<string, string>> {
	return {
		model: report.kind === 'prior' ? 'the base rate' : report.kind,
		rows: `${report.rows}`,
		conversions: conversionsText(report),
		'base rate': percent(report.baseRate),
		...(later && {
			'judged on': `${later.rows} later rows, with these conversions: ${conversionsText(later)}`,
			'AUC of all rows': withInterval(later.auc, 3),
			'log loss': `${later.logLoss.toFixed(4)}, of the base rate ${later.baseRateLogLoss.toFixed(4)}`,
			Brier: later.brier.toFixed(4),
			predicted: percent(later.predicted),
			observed: percent(later.observed),
			'calibration error': later.expectedCalibrationError.toFixed(4),
		}),
	};
}

/** The tables of a report that have rows. Reports of earlier versions lack some. */
export function tablesOf({ later, topFeatures }: TrainingReport): FigureTable[] {
	const tables = {
		'Visitors who are present (by visit, as pages ask) and who have left (latest block, as batches ask)': [
			...(later?.byVisits ?? []).map(
				({ visit, ...measures }) => [`present, ${visit} visit`, measures] as const,
			),
			...(later?.absent ? [['has left', later.absent] as const] : []),
		].map(([who, { rows, conversions, auc, logLoss, baseRateLogLoss }]) => ({
			who,
			rows,
			conversions,
			AUC: auc?.toFixed(3) ?? '-',
			'log loss': logLoss.toFixed(4),
			'of the base rate': baseRateLogLoss.toFixed(4),
		})),
		'Blocks of time': later?.blocks?.map(
			({ from, to, rows, predicted, observed, logLoss, baseRateLogLoss }) => ({
				'later rows from': from.slice(0, 10),
				to: to.slice(0, 10),
				rows,
				predicted: percent(predicted),
				observed: percent(observed),
				'log loss': logLoss.toFixed(4),
				'of the base rate': baseRateLogLoss.toFixed(4),
			}),
		),
		Calibration: later?.calibrationTable.map(({ rows, meanScore, rate }) => ({
			'later rows': rows,
			predicted: percent(meanScore),
			observed: percent(rate),
		})),
		'What moves scores most': topFeatures.map((feature) => ({
			feature: featureText(feature.name),
			'moves log-odds by': fixed(feature.meanLogOdds, 3),
			direction: directionText(feature),
		})),
	};
	return Object.entries(tables)
		.map(([title, rows = []]) => ({ title, rows }))
		.filter(({ rows }) => rows.length > 0);
}
