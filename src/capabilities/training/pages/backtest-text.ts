import { leftOutText } from '../../../core/domain/mail-gateways.ts';
import type { Interval } from '../fit/measure.ts';
import type { BacktestGain, BacktestReport, CutReport, Measures } from '../follow/backtest.ts';
import { fixed, percent, withInterval } from './report-text.ts';

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

/** What a person should take from it. */
export function backtestVerdict({ cuts, gains, visitors, gatewayVisitors = 0 }: BacktestReport): string[] {
	const { overBaseRate, overSimple } = gains;
	/** Whether that is so at every cut. */
	const where = (others: 'baseRate' | 'simple') => {
		const lost = cuts.filter(
			(cut) => cut.served.logLoss > (cut[others]?.logLoss ?? Number.POSITIVE_INFINITY),
		);
		return lost.length === 0 ? '' : `; at ${lost.length} of ${cuts.length} cuts it is higher`;
	};
	return [
		`${verdictOn(overBaseRate, 'the base rate')}${where('baseRate')}.`,
		overSimple
			? `${verdictOn(overSimple, 'a simple model on recency, count and age')}${where('simple')}.`
			: 'A simple model could not be fitted.',
		...(visitors.drawn < visitors.all
			? [`${visitors.drawn} of ${visitors.all} visitors were drawn and scored.`]
			: []),
		...(gatewayVisitors > 0 ? [leftOutText(gatewayVisitors)] : []),
	];
}

function differenceOf({ value, low, high }: Interval): string {
	const shown = Number(value.toFixed(4));
	if (shown === 0) return `the same (lower by ${fixed(low)} to ${fixed(high)})`;
	return shown > 0
		? `lower by ${withInterval({ value, low, high })}`
		: `higher by ${withInterval({ value: -value, low: -high, high: -low })}`;
}

function verdictOn({ result, ...gain }: BacktestGain, others: string): string {
	const by = `log loss is ${differenceOf(gain)}`;
	if (result === 'better') return `The scores are better than ${others}: ${by}`;
	if (result === 'worse') return `The scores are worse than ${others}: ${by}`;
	return `The scores are not shown to be better than ${others}: ${by}`;
}
