import type { PageReads } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import type { ReportJob } from '../../../kit/reports/report-job.ts';
import { runReport } from '../run-report.ts';

/** Makes a report on the thread of jobs. */
export async function makeReportJob(
	store: Store & PageReads,
	{ account, query }: ReportJob,
): Promise<string> {
	return JSON.stringify(await runReport(store, account, query));
}
