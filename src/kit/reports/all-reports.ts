import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { assembled } from '../assembled.ts';
import type { ComputeJobs } from '../jobs/compute-jobs.ts';
import type { Report, ReportDefinition } from './report.ts';
import type { ReportedAccount, ReportQuery } from './report-query.ts';

/** The kinds of all reports, in the order in which they are listed. What each is, is loaded when one is asked for. */
export const reportKinds = (): string[] => Object.keys(assembled('reports'));

/** @throws Error where there is none */
export async function reportOf(kind: string): Promise<ReportDefinition> {
	const reports = assembled('reports');
	const load = Object.hasOwn(reports, kind) && reports[kind];
	if (!load) throw new Error(`there is no report ${kind}`);
	return load();
}

export const allReports = (): Promise<ReportDefinition[]> => Promise.all(reportKinds().map(reportOf));

/** Makes a report here, not on the thread of jobs. */
export async function madeReport(
	store: Store & PageReads,
	account: ReportedAccount,
	query: ReportQuery,
): Promise<Report> {
	const make = await assembled('computeJobs').report?.();
	if (!make) throw new Error('no reports are made here');
	const job: ComputeJobs['report']['job'] = { type: 'report', account, query };
	return JSON.parse(String(await make(store, job as never, () => {})));
}
