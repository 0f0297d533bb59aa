import '../src/assembly/open-store.ts';
import * as registry from '../src/kit/reports/all-reports.ts';
import type { ReportDefinition } from '../src/kit/reports/report.ts';

/** All reports that there are. */
export const allReports = await registry.allReports();

export const reportOf = (kind: string) => allReports.find((each) => each.kind === kind) as ReportDefinition;
