import { Argument, Option } from 'commander';
import { refusing } from '../config.ts';
import { paymentProviders } from '../domain/touch.ts';
import { OperatorError } from '../errors.ts';
import { calendarOf } from '../reports/calendar.ts';
import type { ReportDefinition } from '../reports/report.ts';
import {
	checkGiven,
	parameterNames,
	parameters,
	queryOf,
	type ReportParameter,
	type ReportQuery,
} from '../reports/report-query.ts';
import { reportCsv, reportText } from '../reports/report-table.ts';
import { allReports, reportOf } from '../reports/reports.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, printJson, withStore } from './output.ts';
import { writeOutputFile } from './output-file.ts';

export interface PrintedOptions extends CommonOptions {
	readonly csv?: boolean;
	readonly html?: string;
	readonly long?: boolean;
}

export function reportCommand(): Command {
	const command = new Command('report')
		.summary('which visits led to which subscriptions, and what they were worth')
		.description(
			`Print a report of an account as a table; with --json, --csv or --html for programs, spreadsheets or browsers.

${allReports.map(({ kind, summary }) => `  ${kind.padEnd(12)}  ${summary}`).join('\n')}

Days are in the account's time zone; --from is inclusive, --to exclusive. A flag that the report does not use is refused.
docs/reports.md has every figure's formula. 'caskade spend import' stores what was spent, for the report spend.`,
		)
		.addArgument(new Argument('<report>').choices(allReports.map(({ kind }) => kind)))
		.addArgument(aidArgument())
		.addArgument(new Argument('[experiment]', 'of the report lift (default: the newest)'));
	for (const name of parameterNames) if (name !== 'experiment') command.addOption(optionOf(name));
	return withOutputs(command)
		.addOption(
			new Option(
				'--long',
				'one table, as in CSV, not several: in attribution with a row for each model, not a column',
			).conflicts(['json', 'csv']),
		)
		.addCommonOptions()
		.action((kind: string, aid: string, experiment: string | undefined, options: PrintedOptions) => {
			const definition = reportOf(kind);
			if (options.long && !definition.parts)
				throw new OperatorError(`The report ${kind} does not use --long; leave it out.`);
			if (experiment !== undefined && !definition.parameters.includes('experiment'))
				throw new OperatorError(`The report ${kind} is not about an experiment; leave ${experiment} out.`);
			const given = { ...givenQuery(definition, command), ...(experiment !== undefined && { experiment }) };
			return printReport(definition, aid, given, options);
		});
}

/** Adds what a report is printed as besides a table. */
export function withOutputs(command: Command): Command {
	return command
		.addOption(new Option('--csv', 'print CSV, with whole pence').conflicts('json'))
		.addOption(new Option('--html <file>', 'write the report as one HTML page, with charts'));
}

/** Makes a report and prints it. */
export function printReport(
	definition: ReportDefinition,
	aid: string,
	given: Partial<ReportQuery>,
	options: PrintedOptions,
): Promise<void> {
	return withStore(options, async (store) => {
		const { long: isLong = false } = options;
		const account = await store.control.account(aid);
		const { runReport } = await import('../reports/run-report.ts');
		const report = await runReport(store, account, queryOf(definition, given), paymentProviders);
		if (options.html !== undefined) {
			const { reportPage } = await import('../reports/report-page.ts');
			const { dayNotes } = await import('../reports/day-notes.ts');
			const notes = await dayNotes(store.control, account.id, calendarOf(report.timezone));
			writeOutputFile(options.html, reportPage(definition, report, { isLong, notes }));
		}
		if (options.json) printJson(report);
		else
			process.stdout.write(
				options.csv ? reportCsv(definition, report) : reportText(definition, report, isLong),
			);
	});
}

export function optionOf(name: ReportParameter): Option {
	const { text, otherwise, value, parse } = parameters[name];
	const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
	const description = otherwise === undefined ? text : `${text} (default: ${otherwise})`;
	if (value === undefined) return new Option(`--no-${flag}`, description);
	return new Option(`--${flag} <${value}>`, description).argParser((given: string, earlier: unknown) => {
		const parsed = refusing((one) => parse(one, Date.now()))(given);
		return value.endsWith('...') ? Object.assign({}, earlier, parsed) : parsed;
	});
}

function givenQuery(definition: ReportDefinition, command: Command): Partial<ReportQuery> {
	const names = parameterNames.filter((name) => command.getOptionValueSource(name) === 'cli');
	const unused = names.filter((name) => !definition.parameters.includes(name));
	if (unused.length > 0) {
		const flags = unused.map((name) => optionOf(name).long);
		throw new OperatorError(`The report ${definition.kind} does not use ${flags.join(', ')}; leave it out.`);
	}
	const given = Object.fromEntries(names.map((name) => [name, command.getOptionValue(name)]));
	checkGiven(definition, given);
	return given;
}
