import { OperatorError } from '../../errors.ts';
import { reportCsv } from '../../reports/report-table.ts';
import { allReports } from '../../reports/reports.ts';
import { type ConsoleAnswer, download } from '../exchange.ts';
import { type AskedOfAccount, accountPage } from '../page.ts';
import { reportQueryOf } from '../view.ts';

/** A report as a file: the same as from the command and over HTTP. */
export const reportFilePage = accountPage({
	path: ':aid/reports/:file',
	title: 'Report',
	right: 'aggregates',
	get: (asked) => fileOf(asked, false),
});

/** The same of a report on single subscriptions. */
export const subscriptionFilePage = accountPage({
	path: ':aid/subscriptions/:file',
	title: 'Report',
	right: 'visitors',
	get: (asked) => fileOf(asked, true),
});

async function fileOf(asked: AskedOfAccount, isOfPersons: boolean): Promise<ConsoleAnswer> {
	const { parts, query, view, now } = asked;
	const [kind, extension] = (parts.file ?? '').split('.');
	const reports = allReports.filter((each) => (each.isOfPersons ?? false) === isOfPersons);
	const definition = reports.find((each) => each.kind === kind);
	if (!definition || (extension !== 'csv' && extension !== 'json'))
		throw new OperatorError(
			`There is no report ${parts.file}; reports are ${reports.map((each) => each.kind).join(', ')}, as .csv or .json.`,
		);
	const { period: _, ...texts } = Object.fromEntries(query);
	const report = await asked.report(reportQueryOf(definition, view, texts, now()));
	return download(
		`${asked.account.aid}-${kind}.${extension}`,
		extension === 'csv' ? reportCsv(definition, report) : JSON.stringify(report, undefined, 2),
	);
}
