import { Option } from 'commander';
import { OperatorError } from '../../../core/errors.ts';
import { aidText, command, merged } from '../../../kit/cli/command.ts';
import { type CommonOptions, print, withStore } from '../../../kit/cli/output.ts';
import { writeOutputFile } from '../../../kit/cli/output-file.ts';
import { filled } from '../../../kit/config.ts';
import { madeReport } from '../../../kit/reports/all-reports.ts';
import { calendarOf } from '../../../kit/reports/calendar.ts';
import type { ReportDefinition } from '../../../kit/reports/report.ts';
import {
	checkGiven,
	parameterNames,
	parameters,
	queryOf,
	type ReportParameter,
	type ReportQuery,
	reportedAccount,
} from '../../../kit/reports/report-query.ts';
import { reportCsv, reportText } from '../../../kit/reports/report-table.ts';

export const reportCommand = (all: readonly ReportDefinition[]) =>
	command('report', 'which visits led to which subscriptions, and what they were worth')
		.description(
			`Print a report of an account as a table; with --json, --csv or --html for programs, spreadsheets or browsers.

${all.map(({ kind, summary }) => `  ${kind.padEnd(13)}  ${summary}`).join('\n')}

Days are in the account's time zone; --from is inclusive, --to exclusive. A flag that the report does not use is refused.
docs/reference/reports.md has every figure's formula. 'caskade spend import' stores what was spent, for the report spend.`,
		)
		.argument(
			'<report>',
			'',
			all.map(({ kind }) => kind),
		)
		.argument('<aid>', aidText)
		.argument('[experiment]', 'of the report lift (default: the newest)')
		.with((own) => {
			for (const name of parameterNames) if (name !== 'experiment') own.addOption(optionOf(name));
		})
		.option('--csv', 'print CSV, with whole pence')
		.conflicts('json')
		.option('--html <file>', 'write the report as one HTML page, with charts')
		.option(
			'--long',
			'one table, as in CSV, instead of several: in attribution with a row, not a column, for each model',
		)
		.conflicts('json', 'csv')
		.common()
		.action((options, own, kind, aid, experiment) => {
			const definition = all.find((each) => each.kind === kind) as ReportDefinition;
			if (options.long && !definition.parts)
				throw new OperatorError(`The report ${kind} does not use --long; leave it out.`);
			if (experiment !== undefined && !definition.parameters.includes('experiment'))
				throw new OperatorError(`The report ${kind} is not about an experiment; leave ${experiment} out.`);
			const names = parameterNames.filter((name) => own.getOptionValueSource(name) === 'cli');
			const unused = names.filter((name) => !definition.parameters.includes(name));
			if (unused.length > 0) {
				const flags = unused.map((name) => optionOf(name).long);
				throw new OperatorError(`The report ${kind} does not use ${flags.join(', ')}; leave it out.`);
			}
			const given = Object.fromEntries(names.map((name) => [name, own.getOptionValue(name)]));
			checkGiven(definition, given);
			return printReport(
				definition,
				aid,
				{ ...given, ...(experiment !== undefined && { experiment }) },
				options,
			);
		});

/** Makes a report and prints it. */
function printReport(
	definition: ReportDefinition,
	aid: string,
	given: Partial<ReportQuery>,
	options: CommonOptions & { readonly csv?: boolean; readonly html?: string; readonly long?: boolean },
): Promise<void> {
	return withStore(options, async (store) => {
		const { long: isLong = false } = options;
		const account = await store.control.account(aid);
		const report = await madeReport(store, reportedAccount(account), queryOf(definition, given));
		if (options.html !== undefined) {
			const { reportPage } = await import('../../../kit/reports/report-page.ts');
			const { dayNotes } = await import('../../../kit/reports/day-notes.ts');
			const notes = await dayNotes(store.control, account.id, calendarOf(report.timezone));
			writeOutputFile(options.html, reportPage(definition, report, { isLong, notes }));
		}
		const textOf = () =>
			options.csv ? reportCsv(definition, report) : reportText(definition, report, isLong);
		print(options, report, () => process.stdout.write(textOf()));
	});
}

function optionOf(name: ReportParameter): Option {
	const { text, otherwise, value, parse } = parameters[name];
	const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
	const description = otherwise === undefined ? text : `${text} (default: ${otherwise})`;
	if (value === undefined) return new Option(`--no-${flag}`, description);
	const parseNow = (given: string) => parse(given, Date.now()) as object;
	return filled(
		new Option(`--${flag} <${value}>`, description),
		value.endsWith('...') ? merged(parseNow) : parseNow,
	);
}
