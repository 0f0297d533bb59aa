import { filePage, json } from '../../../kit/console/files.ts';
import type { AccountRequest, ConsolePage } from '../../../kit/console/page.ts';
import { reportQueryOf } from '../../../kit/console/view.ts';
import type { ReportDefinition } from '../../../kit/reports/report.ts';
import { reportCsv } from '../../../kit/reports/report-table.ts';

/** Reports as files: the same as from the command and over HTTP. Those on single subscriptions are apart. */
export const reportFilePages = (all: readonly ReportDefinition[]): ConsolePage[] => [
	filePage(':aid/reports', 'aggregates', 'Report', filesOf(all, false)),
	filePage(':aid/subscriptions', 'visitors', 'Report', filesOf(all, true), { isOfPersons: true }),
];

function filesOf(all: readonly ReportDefinition[], isOfPersons: boolean) {
	const definitions = all.filter((each) => (each.isOfPersons ?? false) === isOfPersons);
	const files = definitions.map((definition) => {
		const { kind } = definition;
		const report = async ({ query, view, now, report, note }: AccountRequest) => {
			if (isOfPersons) await note(`${kind} exported`);
			const { period: _, ...texts } = Object.fromEntries(query);
			return report(reportQueryOf(definition, view, texts, now()));
		};
		return {
			[`${kind}.csv`]: async (asked: AccountRequest) => reportCsv(definition, await report(asked)),
			[`${kind}.json`]: async (asked: AccountRequest) => json(await report(asked)),
		};
	});
	return Object.assign({}, ...files);
}
