import type { ReportedAccount, ReportQuery } from './report-query.ts';

declare module '../jobs/compute-jobs.ts' {
	interface ComputeJobs {
		report: { job: ReportJob; progress: never; result: string };
	}
}

/** Makes a report. The result is its JSON. */
export interface ReportJob {
	readonly type: 'report';
	readonly account: ReportedAccount;
	readonly query: ReportQuery;
	/** Whether requests come first. */
	readonly isInBackground?: boolean;
}
