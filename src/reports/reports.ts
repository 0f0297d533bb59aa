import { activityReport } from './activity.ts';
import { attributionReport } from './attribution.ts';
import { coverageReport } from './coverage.ts';
import { forecastReport } from './forecast.ts';
import { funnelReport } from './funnel.ts';
import { hostsReport } from './hosts.ts';
import { lifetimeValueReport } from './lifetime-value.ts';
import { liftReport } from './lift.ts';
import { movementReport } from './movement.ts';
import { pathsReport } from './paths.ts';
import { promisesReport } from './promises.ts';
import { renewalsReport } from './renewals.ts';
import type { ReportDefinition } from './report.ts';
import { retentionReport } from './retention.ts';
import { spendReport } from './spend.ts';
import { subscriptionsReport } from './subscriptions.ts';
import { summaryReport } from './summary.ts';
import { thresholdReport } from './threshold.ts';
import { trialsReport } from './trials.ts';

/** All reports, in the order in which they are listed. */
export const allReports: readonly ReportDefinition[] = [
	summaryReport,
	activityReport,
	attributionReport,
	pathsReport,
	funnelReport,
	trialsReport,
	movementReport,
	retentionReport,
	renewalsReport,
	lifetimeValueReport,
	coverageReport,
	hostsReport,
	spendReport,
	promisesReport,
	thresholdReport,
	liftReport,
	forecastReport,
	subscriptionsReport,
];

/** @throws Error where there is none */
export function reportOf(kind: string): ReportDefinition {
	const report = allReports.find((each) => each.kind === kind);
	if (!report) throw new Error(`there is no report ${kind}`);
	return report;
}
