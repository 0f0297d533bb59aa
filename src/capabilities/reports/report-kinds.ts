/** All reports, in the order in which they are listed. What each is stands in `reports.ts`, which is loaded when one is asked for. */
export const reportKinds = [
	'summary',
	'activity',
	'attribution',
	'paths',
	'funnel',
	'trials',
	'movement',
	'retention',
	'renewals',
	'ltv',
	'coverage',
	'hosts',
	'spend',
	'promises',
	'threshold',
	'lift',
	'forecast',
	'subscriptions',
] as const;
export type ReportKind = (typeof reportKinds)[number];
