import type { ModelLevels } from '../domain/model-levels.ts';
import type { GoalReport, TrainedGoal } from '../scoring/account-training.ts';
import type { TrainingReport } from '../scoring/report.ts';
import { reportPage } from '../scoring/report-page.ts';
import { daysText, featureText, percent, withInterval } from '../scoring/report-text.ts';
import { printLine, printRecord, printTable } from './output.ts';

/** Prints a training for an operator. */
export function printTraining(
	aid: string,
	asOfMs: number,
	trained: readonly TrainedGoal[],
	reportFile: string | undefined,
): void {
	printLine(`${aid} as of ${trained[0]?.report.asOf ?? new Date(asOfMs).toISOString()}`);
	for (const sentence of historySentences(trained)) printLine(sentence);
	for (const one of trained) {
		printLine('');
		printLine(heading(one.report));
		for (const sentence of sentences(one)) printLine(sentence);
		for (const warning of one.report.warnings) printLine(`Warning: ${warning}`);
		if (one.version !== null) printMeasures(one.report);
	}
	if (reportFile !== undefined) printLine(`\nThe report with its charts is in ${reportFile}.`);
}

/** The same as one HTML page. */
export function trainingPage(aid: string, asOfMs: number, trained: readonly TrainedGoal[]): string {
	return reportPage(
		`Scores of ${aid} as of ${trained[0]?.report.asOf ?? new Date(asOfMs).toISOString()}`,
		historySentences(trained),
		trained.map((one) => ({
			heading: heading(one.report),
			lead: sentences(one),
			report: one.report,
		})),
	);
}

const kindTexts = { page: 'page', channel: 'channel', event: 'event', evt: 'subscription event' } as const;

function historySentences([first]: readonly TrainedGoal[]): string[] {
	if (!first) return [];
	const stopped = first.report.stopped.map(
		({ kind, name, lastDay }) => `${kindTexts[kind]} ${name} (last on ${lastDay})`,
	);
	return [
		...first.report.history,
		...(stopped.length > 0 ? [`No longer seen, and so not relied on: ${stopped.join(', ')}.`] : []),
	];
}

function heading({ goal, scope, horizonDays }: GoalReport): string {
	return `Goal ${goal} of ${scope === 'vid' ? 'visitors' : 'single visits'}, within ${daysText(horizonDays)}`;
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
	if (later?.blocks) {
		printLine('');
		printTable(
			later.blocks.map(({ from, to, rows, said, came, logLoss, baseRateLogLoss }) => ({
				'later rows from': from.slice(0, 10),
				to: to.slice(0, 10),
				rows,
				said: percent(said),
				came: percent(came),
				'log loss': logLoss.toFixed(4),
				'of the base rate': baseRateLogLoss.toFixed(4),
			})),
			'',
		);
	}
	if (later?.byVisits && later.byVisits.length > 0) {
		printLine('');
		printTable(
			later.byVisits.map(({ visit, rows, conversions, auc, logLoss, baseRateLogLoss }) => ({
				visit,
				rows,
				conversions,
				AUC: auc?.toFixed(3) ?? '-',
				'log loss': logLoss.toFixed(4),
				'of the base rate': baseRateLogLoss.toFixed(4),
			})),
			'',
		);
	}
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

const barColumns = 40;

/** Draws week by week what was said, as served, and what came. */
export function printLevels({ shifts, weeks }: ModelLevels): void {
	const max = Math.max(0.001, ...weeks.flatMap(({ said, came }) => [said, came]));
	const columnOf = (rate: number) => Math.round((rate / max) * (barColumns - 1));
	printLine('');
	printTable(
		weeks.map(({ fromMs, visitors, said, came, isOutside }) => {
			const drawing = new Array<string>(barColumns).fill('.');
			drawing[columnOf(came)] = 'o';
			drawing[columnOf(said)] = drawing[columnOf(said)] === 'o' ? '*' : 's';
			return {
				'week from': new Date(fromMs).toISOString().slice(0, 10),
				visitors,
				said: percent(said),
				came: percent(came),
				's said, o came, * both': drawing.join(''),
				'': isOutside ? 'outside' : '',
			};
		}),
		"No week's outcomes are known yet.",
	);
	const shift = shifts.at(-1);
	if (shift)
		printLine(
			`Since ${new Date(shift.sinceMs).toISOString()} scores are shifted by ${shift.byRecency.map((value) => value.toFixed(2)).join(', ')} in log-odds, for visitors who are present, were present within the horizon, and left before that.`,
		);
}
