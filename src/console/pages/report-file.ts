import { OperatorError } from '../../errors.ts';
import { reportCsv } from '../../reports/report-table.ts';
import { allReports } from '../../reports/reports.ts';
import { download } from '../exchange.ts';
import { accountPage } from '../page.ts';
import { reportQueryOf } from '../view.ts';

/** A report as a file: the same as from the command and over HTTP. */
export const reportFilePage = accountPage({
	path: ':aid/reports/:file',
	title: 'Report',
	right: 'aggregates',
	async get(asked) {
		const { parts, query, view, now } = asked;
		const [kind, extension] = (parts.file ?? '').split('.');
		const definition = allReports.find((each) => each.kind === kind);
		if (!definition || (extension !== 'csv' && extension !== 'json'))
			throw new OperatorError(
				`There is no report ${parts.file}; reports are ${allReports.map((each) => each.kind).join(', ')}, as .csv or .json.`,
			);
		const { period: _, ...texts } = Object.fromEntries(query);
		const report = await asked.report(reportQueryOf(definition, view, texts, now()));
		return download(
			`${asked.account.aid}-${kind}.${extension}`,
			extension === 'csv' ? reportCsv(definition, report) : JSON.stringify(report, undefined, 2),
		);
	},
});
