import type { GoalReport, TrainedGoal } from '../scoring/account-training.ts';
import type { TrainingReport } from '../scoring/report.ts';
import { reportPage } from '../scoring/report-page.ts';
import { featureText, percent, withInterval } from '../scoring/report-text.ts';
import { printLine, printRecord, printTable } from './output.ts';

/** Prints a training for an operator. */
export function printTraining(
	aid: string,
	asOfMs: number,
	trained: readonly TrainedGoal[],
	reportFile: string | undefined,
): void {
	printLine(`${aid} as of ${new Date(asOfMs).toISOString()}`);
	for (const sentence of trained[0]?.report.history ?? []) printLine(sentence);
	for (const one of trained) {
		printLine('');
		printLine(heading(one.report));
		for (const sentence of sentences(one)) printLine(sentence);
		for (const warning of one.report.warnings) printLine(`Warning: ${warning}`);
		if (one.version !== null) printMeasures(one.report);
	}
	if (reportFile !== undefined) printLine(`\nThe report with its drawings is in ${reportFile}.`);
}

/** The same as one HTML page. */
export function trainingPage(aid: string, asOfMs: number, trained: readonly TrainedGoal[]): string {
	return reportPage(
		`Scores of ${aid} as of ${new Date(asOfMs).toISOString()}`,
		trained[0]?.report.history ?? [],
		trained.map((one) => ({
			heading: heading(one.report),
			lead: sentences(one),
			report: one.report,
		})),
	);
}

function heading({ goal, scope, horizonDays }: GoalReport): string {
	return `Goal ${goal} of ${scope === 'vid' ? 'visitors' : 'single visits'}, within ${horizonDays} days`;
}

function sentences({ why, former, report }: TrainedGoal): string[] {
	if (!former?.auc || former.logLoss === null || former.baseRateLogLoss === null || !report.later)
		return [why];
	const gain = percent(1 - former.logLoss / former.baseRateLogLoss);
	return [
		why,
		`When ${former.version} was trained, its AUC was ${withInterval(former.auc, 3)}, its log loss ${former.logLoss.toFixed(4)}, ${gain} below the base rate's.`,
	];
}

/** Prints how a model was trained and judged, and what moves its scores. */
export function printMeasures(report: TrainingReport): void {
	const { later } = report;
	printRecord({
		model: report.kind,
		rows: report.rows,
		conversions: report.conversions,
		'base rate': percent(report.baseRate),
		...(later && {
			'judged on': `${later.rows} later rows with ${later.conversions} conversions`,
			AUC: withInterval(later.auc, 3),
			'log loss': `${later.logLoss.toFixed(4)}, of the base rate ${later.baseRateLogLoss.toFixed(4)}`,
			Brier: later.brier.toFixed(4),
			calibration: `error ${later.expectedCalibrationError.toFixed(4)}, slope ${later.calibrationSlope.toFixed(2)}`,
		}),
	});
	for (const sentence of report.chosen) printLine(sentence);
	if (later) {
		printLine('');
		printTable(
			later.calibrationTable.map(({ rows, meanScore, rate }) => ({
				'later rows': rows,
				said: percent(meanScore),
				came: percent(rate),
			})),
			'',
		);
	}
	if (report.topFeatures.length === 0) return;
	printLine('');
	printTable(
		report.topFeatures.map(({ name, meanLogOdds, direction }) => ({
			feature: featureText(name),
			'moves log-odds by': meanLogOdds.toFixed(3),
			direction,
		})),
		'',
	);
}
