import { filePage, json } from '../../../kit/console/files.ts';
import type { AskedOfAccount } from '../../../kit/console/page.ts';
import { reportQueryOf } from '../../../kit/console/view.ts';
import { reportCsv } from '../../../kit/reports/report-table.ts';
import { allReports } from '../reports.ts';

/** Reports as files: the same as from the command and over HTTP. */
export const reportFilePage = filePage(':aid/reports', 'aggregates', 'Report', filesOf(false));

/** The same of reports on single subscriptions. */
export const subscriptionFilePage = filePage(':aid/subscriptions', 'visitors', 'Report', filesOf(true), {
	isOfPersons: true,
});

function filesOf(isOfPersons: boolean) {
	const definitions = allReports.filter((each) => (each.isOfPersons ?? false) === isOfPersons);
	const files = definitions.map((definition) => {
		const { kind } = definition;
		const report = async ({ query, view, now, report, note }: AskedOfAccount) => {
			if (isOfPersons) await note(`${kind} exported`);
			const { period: _, ...texts } = Object.fromEntries(query);
			return report(reportQueryOf(definition, view, texts, now()));
		};
		return {
			[`${kind}.csv`]: async (asked: AskedOfAccount) => reportCsv(definition, await report(asked)),
			[`${kind}.json`]: async (asked: AskedOfAccount) => json(await report(asked)),
		};
	});
	return Object.assign({}, ...files);
}
