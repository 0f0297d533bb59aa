import type { BacktestReport, CutReport, Measures } from '../follow/backtest.ts';
import { percent } from './report-text.ts';

const figures = (measures: Measures | null, digits: number, of: (measures: Measures) => number) =>
	measures === null ? '-' : of(measures).toFixed(digits);

/** A row for each cut, and one for all of them. */
export function backtestRows({ cuts, all }: BacktestReport) {
	return [...cuts, all].map((report: CutReport) => ({
		cut: report.cut.slice(0, 10),
		scores: report.scores,
		served: report.kind,
		predicted: percent(report.served.predicted),
		observed: percent(report.observed),
		AUC: report.served.auc?.value.toFixed(3) ?? '-',
		'log loss': figures(report.served, 4, ({ logLoss }) => logLoss),
		'of the base rate': figures(report.baseRate, 4, ({ logLoss }) => logLoss),
		'of a simple model': figures(report.simple, 4, ({ logLoss }) => logLoss),
		Brier: figures(report.served, 4, ({ brier }) => brier),
		'calibration error': figures(
			report.served,
			4,
			({ expectedCalibrationError }) => expectedCalibrationError,
		),
	}));
}
