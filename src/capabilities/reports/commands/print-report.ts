import { Option } from 'commander';
import { merged } from '../../../kit/cli/command.ts';
import { type CommonOptions, print, withStore } from '../../../kit/cli/output.ts';
import { writeOutputFile } from '../../../kit/cli/output-file.ts';
import { filled } from '../../../kit/config.ts';
import { madeReport } from '../../../kit/reports/all-reports.ts';
import { calendarOf } from '../../../kit/reports/calendar.ts';
import type { ReportDefinition } from '../../../kit/reports/report.ts';
import {
	parameters,
	queryOf,
	type ReportParameter,
	type ReportQuery,
	reportedAccount,
} from '../../../kit/reports/report-query.ts';
import { reportCsv, reportText } from '../../../kit/reports/report-table.ts';

export const csvOutput = ['--csv', 'print CSV, with whole pence'] as const;
export const htmlOutput = ['--html <file>', 'write the report as one HTML page, with charts'] as const;

/** Makes a report and prints it. */
export function printReport(
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

export function optionOf(name: ReportParameter): Option {
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
