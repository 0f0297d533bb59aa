import type { ModelLevels } from '../../../core/domain/model-levels.ts';
import { counted, formatNumber } from '../../../core/format/numbers.ts';
import { printLine, printRecord, printTable } from '../../../kit/cli/output.ts';
import type { GoalReport } from '../judge/account-training.ts';
import type { ExperimentReport, TrainedLift } from '../judge/experiment-training.ts';
import type { GroupCounts } from '../judge/train-lift.ts';
import { figuresOf, tablesOf } from '../pages/report-figures.ts';
import {
	choiceSentences,
	fixed,
	formerSentences,
	headingOf,
	historySentences,
	percent,
	verdictOf,
	withInterval,
} from '../pages/report-text.ts';
import type { PrintedTraining } from '../pages/training-page.ts';

/** Prints two lines on each model, and with `verbose` how it was trained and judged. */
export function printTraining(
	{ asOf, trained }: PrintedTraining,
	{ verbose, reportFile }: { verbose: boolean; reportFile: string | undefined },
): void {
	const [first] = trained;
	const { usual, notable } = first ? historySentences(first.report) : { usual: [], notable: [] };
	for (const [index, one] of trained.entries()) {
		if (index > 0) printLine('');
		printLine(headingOf(one.report));
		for (const line of verdictOf(one)) printLine(line);
		if (!verbose || one.version === null) continue;
		for (const sentence of formerSentences(one)) printLine(sentence);
		printLine('');
		printMeasures(one.report);
	}
	if (notable.length > 0) printLine('');
	for (const sentence of notable) printLine(sentence);
	if (verbose) for (const sentence of [`\nThe models are as of ${asOf}.`, ...usual]) printLine(sentence);
	if (reportFile !== undefined) printLine(`\nThe report with its drawings is in ${reportFile}.`);
	else if (!verbose && trained.some(({ version }) => version !== null))
		printLine('\n--verbose prints how each was trained and judged; --report FILE draws it.');
}

/** Prints how far the groups differ, whether the order of visitors is shown to be right, and whether it is served. */
export function printTrainedLift({ version, active, report }: TrainedLift, verbose: boolean): void {
	const { goal, experiment, treated, holdout, meanLift, tried, method } = report;
	const rateText = ({ conversions, visitors }: GroupCounts) => percent(conversions / visitors);
	printLine(`Lift of goal ${goal}, from experiment ${experiment}`);
	printLine(
		`Of the treated ${rateText(treated)} reached it, of those held out ${rateText(holdout)}: a difference of ${fixed(100 * meanLift, 2)} points.`,
	);
	const qini = tried.find((one) => one.method === method)?.qini;
	if (qini)
		printLine(
			`On visitors kept out of training, the model's ranking has a Qini coefficient of ${withInterval(qini, 3)}${active ? '.' : ', which may be chance.'}`,
		);
	printLine(
		active ? `Version ${version} is now in use.` : `Version ${version} is not used, and nobody has a lift.`,
	);
	if (verbose) {
		printLine('');
		printLiftMeasures(report);
	} else printLine('\n--verbose prints how it was trained and judged.');
}

/** Prints how a model of lift was trained and judged. */
export function printLiftMeasures(report: ExperimentReport): void {
	const groupText = ({ conversions, visitors }: GroupCounts) =>
		`${formatNumber(conversions)} of ${counted(visitors, 'visitor')}`;
	printRecord({
		experiment: report.experiment,
		model: report.method,
		treated: groupText(report.treated),
		'held out': groupText(report.holdout),
		'not known yet': counted(report.waiting, 'visitor'),
		...Object.fromEntries(report.tried.map(({ method, qini }) => [`Qini, ${method}`, withInterval(qini, 3)])),
	});
	printLine('The intervals are of 95 %. Each visitor was ordered by a model that had not seen it.');
	printLine('');
	const points = (share: number) => fixed(100 * share, 2);
	printTable(
		report.fifths.map(({ predicted, treated, holdout }, fifth) => {
			const [rate, without] = [treated, holdout].map(({ conversions, visitors }) => conversions / visitors);
			return {
				'fifth by lift': ['highest', 'second', 'third', 'fourth', 'lowest'][fifth],
				'predicted, points': points(predicted),
				'observed, points': points((rate as number) - (without as number)),
				treated: percent(rate as number),
				'held out': percent(without as number),
			};
		}),
		'',
	);
}

/** Prints how a model was trained and judged, and what moves its scores. */
export function printMeasures(report: GoalReport): void {
	printRecord(figuresOf(report));
	for (const sentence of choiceSentences(report)) printLine(sentence);
	for (const { title, rows } of tablesOf(report)) {
		printLine(`\n${title}:`);
		printTable(rows, '');
	}
}

const barColumns = 40;

/** Draws week by week what was predicted, and what was observed. */
export function printLevels({ weeks }: ModelLevels): void {
	const max = Math.max(0.001, ...weeks.flatMap(({ predicted, observed }) => [predicted, observed]));
	const columnOf = (rate: number) => Math.round((rate / max) * (barColumns - 1));
	printLine('');
	printTable(
		weeks.map(({ fromMs, visitors, predicted, observed, isOutside }) => {
			const drawing = new Array<string>(barColumns).fill('.');
			drawing[columnOf(observed)] = 'o';
			drawing[columnOf(predicted)] = drawing[columnOf(predicted)] === 'o' ? '*' : 'p';
			return {
				'week from': new Date(fromMs).toISOString().slice(0, 10),
				visitors,
				predicted: percent(predicted),
				observed: percent(observed),
				'p predicted, o observed, * both': drawing.join(''),
				'': isOutside ? 'outside' : '',
			};
		}),
		"No week's outcomes are known yet.",
	);
}
