import type { ReportDefinition } from '../../kit/reports/report.ts';
import { liftReport } from '../experiments/reports/lift.ts';
import { promisesReport } from '../training/reports/promises.ts';
import { thresholdReport } from '../training/reports/threshold.ts';
import { activityReport } from './activity.ts';
import { attributionReport } from './attribution.ts';
import { coverageReport } from './coverage.ts';
import { forecastReport } from './forecast.ts';
import { funnelReport } from './funnel.ts';
import { hostsReport } from './hosts.ts';
import { lifetimeValueReport } from './lifetime-value.ts';
import { movementReport } from './movement.ts';
import { pathsReport } from './paths.ts';
import { renewalsReport } from './renewals.ts';
import { type ReportKind, reportKinds } from './report-kinds.ts';
import { retentionReport } from './retention.ts';
import { spendReport } from './spend.ts';
import { subscriptionsReport } from './subscriptions.ts';
import { summaryReport } from './summary.ts';
import { trialsReport } from './trials.ts';

const definitions: Readonly<Record<ReportKind, ReportDefinition>> = {
	summary: summaryReport,
	activity: activityReport,
	attribution: attributionReport,
	paths: pathsReport,
	funnel: funnelReport,
	trials: trialsReport,
	movement: movementReport,
	retention: retentionReport,
	renewals: renewalsReport,
	ltv: lifetimeValueReport,
	coverage: coverageReport,
	hosts: hostsReport,
	spend: spendReport,
	promises: promisesReport,
	threshold: thresholdReport,
	lift: liftReport,
	forecast: forecastReport,
	subscriptions: subscriptionsReport,
};

export const allReports: readonly ReportDefinition[] = reportKinds.map((kind) => definitions[kind]);

/** @throws Error where there is none */
export function reportOf(kind: string): ReportDefinition {
	const report = allReports.find((each) => each.kind === kind);
	if (!report) throw new Error(`there is no report ${kind}`);
	return report;
}
