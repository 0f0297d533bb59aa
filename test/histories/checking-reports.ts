import assert from 'node:assert/strict';
import { paymentProviders } from '../../src/domain/touch.ts';
import { isOfTouches } from '../../src/reports/label.ts';
import { attributionModels } from '../../src/reports/model.ts';
import type { Report } from '../../src/reports/report.ts';
import { queryOf, type ReportQuery } from '../../src/reports/report-query.ts';
import { reportOf } from '../../src/reports/reports.ts';
import { runReport } from '../../src/reports/run-report.ts';
import { saveSpending } from '../../src/store/account/reading/journey-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { alike } from './alike.ts';
import * as cohorts from './cohort-sums.ts';
import type { Asked, Figures } from './journeys.ts';
import * as paths from './path-sums.ts';
import * as figures from './report-figures.ts';
import type { Log } from './stored-log.ts';
import * as subscriptions from './subscription-sums.ts';

const spent: readonly cohorts.Spent[] = [
	{ day: '2025-03-03', channel: 'email', campaign: '', pence: 1500 },
	{ day: '2025-04-10', channel: 'email', campaign: 'spring', pence: 250 },
	{ day: '2025-03-20', channel: 'social', campaign: '', pence: 40_000 },
	{ day: '2025-03-05', channel: 'radio', campaign: '', pence: 99 },
];

interface Question extends Partial<ReportQuery> {
	readonly kind: string;
}

/** Questions about a history that ends at a moment. */
function questionsAbout(endMs: number): Question[] {
	const pastMs = endMs - 20 * 86_400_000;
	const month = { from: '2025-03-10', to: '2025-04-20' };
	const attribution = { kind: 'attribution', intervals: false, model: attributionModels } as const;
	const paths = { kind: 'paths', top: 10_000 } as const;
	const spend = { kind: 'spend', model: ['decay'] } as const;
	const period = { membership: 3, newsletter: 30 };
	return [
		attribution,
		{ ...attribution, asOf: endMs, by: ['landing'] },
		{ ...attribution, asOf: pastMs, lookbackDays: 20 },
		{ ...attribution, ...month, basis: 'cohort' },
		{ ...attribution, ...month, by: ['source', 'campaign'], evt: 'membership' },
		{ ...attribution, by: [], channel: 'email' },
		paths,
		{ ...paths, ...month, asOf: endMs, lookbackDays: 7, by: ['channel', 'landing'] },
		{ ...paths, asOf: pastMs, basis: 'cohort', ...month },
		{ kind: 'ltv', asOf: endMs },
		{ kind: 'ltv', asOf: pastMs, by: [], timezone: 'America/New_York' },
		{ kind: 'ltv', ...month, by: ['source'], timezone: 'Asia/Kolkata', asOf: endMs + 70 * 86_400_000 },
		{ kind: 'renewals', asOf: endMs, period },
		{ kind: 'renewals', asOf: endMs + 90 * 86_400_000, by: [], ...month, period },
		{ kind: 'movement', asOf: endMs, by: [], period },
		{ kind: 'movement', asOf: pastMs, by: ['channel'], ...month, period, timezone: 'Asia/Kolkata' },
		{ kind: 'movement', by: ['source'], evt: 'membership', period: { membership: 365, newsletter: 365 } },
		{ kind: 'retention', asOf: endMs, by: [], period },
		{
			kind: 'retention',
			asOf: endMs + 60 * 86_400_000,
			by: ['channel'],
			period,
			timezone: 'America/New_York',
		},
		{ kind: 'coverage' },
		{ kind: 'coverage', asOf: pastMs, by: [], evt: 'newsletter' },
		{ kind: 'coverage', ...month, timezone: 'Asia/Kolkata' },
		spend,
		{ ...spend, asOf: pastMs, by: [] },
		{ ...spend, ...month },
	];
}

/** Compares the reports of an account with sums of the log. @returns how many figures were equal */
export async function checkReports(
	store: Store,
	accountId: number,
	{ log, endMs }: { readonly log: Log; readonly endMs: number },
): Promise<number> {
	await store.transact(accountId, () => saveSpending(spent));
	let compared = 0;
	for (const question of questionsAbout(endMs)) {
		const query = queryOf(reportOf(question.kind), question);
		const account = {
			id: accountId,
			aid: 'c-a-acme-uk',
			timezone: 'UTC',
			paymentProviders: [],
			renewalDays: {},
			currency: 'GBP',
		};
		const report = await runReport(store, account, query, paymentProviders);
		const asked = askedOf(query, report);
		const what = `the figures of ${JSON.stringify(question)}`;
		alike(figuresOf(report, query, asked), sumsOf(log, query, asked), what);
		if (query.kind === 'attribution') assert.deepEqual(figures.wrongColumns(report), [], what);
		compared += figuresOf(report, query, asked).size;
	}
	return compared;
}

function askedOf(query: ReportQuery, report: Report): Asked {
	const startOf = (day: string) =>
		Temporal.PlainDate.from(day).toZonedDateTime(query.timezone ?? 'UTC').epochMilliseconds;
	return {
		...query,
		by: query.by.filter(isOfTouches),
		asOfMs: Date.parse(String(report.asOf)),
		fromMs: query.from === null ? Number.NEGATIVE_INFINITY : startOf(query.from),
		toMs: query.to === null ? Number.POSITIVE_INFINITY : startOf(query.to),
		timezone: query.timezone ?? 'UTC',
	};
}

function figuresOf(report: Report, { kind }: ReportQuery, asked: Asked): Figures {
	if (kind === 'attribution') return figures.attributionFigures(report, asked);
	if (kind === 'paths') return figures.pathFigures(report);
	if (kind === 'ltv') return figures.lifetimeValueFigures(report, asked);
	if (kind === 'renewals') return figures.renewalFigures(report, asked);
	if (kind === 'movement') return figures.movementFigures(report, asked);
	if (kind === 'retention') return figures.retentionFigures(report, asked);
	if (kind === 'coverage') return figures.coverageFigures(report, asked);
	return figures.spendingFigures(report, asked);
}

function sumsOf(log: Log, { kind, model }: ReportQuery, asked: Asked): Figures {
	if (kind === 'attribution') return paths.attribution(log, asked);
	if (kind === 'paths') return paths.paths(log, asked);
	if (kind === 'ltv') return cohorts.lifetimeValues(log, asked);
	if (kind === 'renewals') return subscriptions.renewals(log, asked);
	if (kind === 'movement') return subscriptions.movement(log, asked);
	if (kind === 'retention') return subscriptions.retention(log, asked);
	if (kind === 'coverage') return cohorts.coverage(log, asked);
	return cohorts.spending(log, asked, spent, String(model[0]));
}
