import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { runReport } from '../../src/capabilities/reports/run-report.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { saveSpending } from '../../src/kit/reading/spending.ts';
import { attributionModels } from '../../src/kit/reports/attribution-model.ts';
import { isOfTouches } from '../../src/kit/reports/label.ts';
import type { Report } from '../../src/kit/reports/report.ts';
import { checkGiven, queryOf, type ReportQuery } from '../../src/kit/reports/report-query.ts';
import type { Log } from '../core/store/stored-log.ts';
import { reportOf } from '../reports.ts';
import { alike } from './alike.ts';
import * as cohorts from './cohort-sums.ts';
import { funnel } from './funnel-sums.ts';
import { type Asked, type Figures, fields as touchFields } from './journeys.ts';
import * as paths from './path-sums.ts';
import { maxMovedMs } from './playing.ts';
import type { Question } from './questions.ts';
import * as figures from './report-figures.ts';
import * as subscriptions from './subscription-sums.ts';

const spent: readonly cohorts.Spent[] = [
	{ day: '2025-03-03', channel: 'email', campaign: '', pence: 1500 },
	{ day: '2025-04-10', channel: 'email', campaign: 'spring', pence: 250 },
	{ day: '2025-03-20', channel: 'social', campaign: '', pence: 40_000 },
	{ day: '2025-03-05', channel: 'radio', campaign: '', pence: 99 },
];

/** The rule of the segment that questions may name: visitors with more hits than these. */
export const busyHits = 2;
export const busy = { id: 'busy', name: 'Busy', rule: `visitor.hits > ${busyHits}` };

/** What accounts call a cancellation: what is nothing else, and what is an event type of others, too. */
const cancellations = [null, 'goodbye', 'newsletter'];

/** How late payments may come where accounts say so: later and earlier than is learned, and not at all. */
const graces: readonly Readonly<Record<string, number>>[] = [
	{},
	{ newsletter: 3 },
	{ membership: 45, newsletter: 21 },
	{ membership: 0 },
];

/** Questions about a history that ends at a moment. */
export function questionsAbout(endMs: number): Question[] {
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
		{ kind: 'trials', asOf: endMs, by: [] },
		{ kind: 'trials', asOf: endMs + 30 * 86_400_000, by: ['channel', 'price'], every: 'month', period },
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
		{ kind: 'activity', every: 'week' },
		{ kind: 'activity', ...month, asOf: endMs, channel: 'email', timezone: 'Asia/Kolkata' },
		// By days, which are too many from the history's begin until today.
		{ kind: 'activity', asOf: endMs, campaign: 'spring' },
		{ kind: 'movement', by: [], channel: 'email', campaign: 'spring', period },
		{ kind: 'funnel' },
		{ kind: 'funnel', asOf: pastMs, days: 1, top: 2, ...month, timezone: 'Asia/Kolkata' },
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
	store: OpenStore,
	accountId: number,
	{ log, questions }: { readonly log: Log; readonly questions: readonly Question[] },
): Promise<number> {
	await store.transact(accountId, () => saveSpending(spent));
	await untilPast(store, log);
	let compared = 0;
	for (const [place, question] of questions.entries()) {
		checkGiven(reportOf(question.kind), question);
		const query = queryOf(reportOf(question.kind), question);
		const cancellationEvt = cancellations[place % cancellations.length] as string | null;
		const graceDays = graces[place % graces.length] as Readonly<Record<string, number>>;
		const account = {
			id: accountId,
			aid: 'c-a-acme-uk',
			timezone: 'UTC',
			paymentProviders: [],
			renewalDays: {},
			graceDays,
			cancellationEvt,
			currency: 'GBP',
		};
		const report = await runReport(store, account, query);
		const asked = { ...askedOf(query, Date.parse(String(report.asOf))), cancellationEvt, graceDays };
		const what = `the figures of ${JSON.stringify({ ...question, cancellationEvt, graceDays })}`;
		compared += compare(report, log, query, asked, what);
		if (query.compare === null) continue;
		const { compared: earlier } = report;
		assert.ok(earlier);
		compared += compare(earlier, log, query, earlierThan(asked, query.compare), `${what}, compared`);
	}
	return compared;
}

/**
 * Waits until the clock is past what was stored. Hits of one moment are dated after each other, so the last ones are ahead of it:
 * a report as of now has the owners that they decide, and does not count them yet.
 */
async function untilPast(store: OpenStore, { hits, events }: Log): Promise<void> {
	const lastMs = [...hits, ...events].reduce((last, { atMs }) => Math.max(last, atMs), 0);
	assert.ok(lastMs < store.now() + maxMovedMs, 'nothing is dated more than a minute ahead');
	while (store.now() < lastMs) await delay(lastMs - store.now());
}

function compare(report: Report, log: Log, query: ReportQuery, asked: Asked, what: string): number {
	assert.equal(Date.parse(String(report.asOf)), asked.asOfMs, what);
	const found = figuresOf(report, query, asked);
	alike(found, sumsOf(log, query, asked), what);
	if (query.kind === 'attribution') assert.deepEqual(figures.wrongColumns(report), [], what);
	return found.size;
}

function askedOf(query: ReportQuery, asOfMs: number): Omit<Asked, 'cancellationEvt' | 'graceDays'> {
	const timezone = query.timezone ?? 'UTC';
	const { evt, period, basis, lookbackDays, halfLifeDays, months, every, intervals, days, top } = query;
	return {
		evt,
		period,
		basis,
		lookbackDays,
		halfLifeDays,
		months,
		every,
		intervals,
		days,
		top,
		countsGateways: query.include === 'gateways',
		asOfMs,
		timezone,
		touch: Object.fromEntries(
			touchFields.flatMap((name) => (query[name] === null ? [] : [[name, query[name]]])),
		),
		moreHitsThan: query.segment === null ? -1 : busyHits,
		groups: query.by,
		by: query.by.filter(isOfTouches),
		models: query.model,
		from: query.from,
		to: query.to,
		...boundsOf(query.from, query.to, timezone),
	};
}

function boundsOf(from: string | null, to: string | null, timezone: string) {
	const startOf = (day: string) => Temporal.PlainDate.from(day).toZonedDateTime(timezone).epochMilliseconds;
	return {
		fromMs: from === null ? Number.NEGATIVE_INFINITY : startOf(from),
		toMs: to === null ? Number.POSITIVE_INFINITY : startOf(to),
	};
}

/** As many days before in whole weeks, or 52 weeks before, and as of so much earlier at the same time of day. */
function earlierThan(asked: Asked, than: 'previous' | 'year'): Asked {
	const { timezone, asOfMs } = asked;
	const asOf = Temporal.Instant.fromEpochMilliseconds(asOfMs).toZonedDateTimeISO(timezone);
	const [from, to] = [asked.from, asked.to ?? String(asOf.toPlainDate().add({ days: 1 }))] as [
		string,
		string,
	];
	if (from.endsWith('-01') && to.endsWith('-01')) {
		const [first, end] = [from, to].map((day) => Temporal.PlainDate.from(day)) as [
			Temporal.PlainDate,
			Temporal.PlainDate,
		];
		const months = than === 'year' ? 12 : first.until(end, { largestUnit: 'months' }).months;
		const [earlierFrom, earlierTo] = [first, end].map((day) => String(day.subtract({ months }))) as [
			string,
			string,
		];
		const between = Math.round((Date.parse(to) - Date.parse(earlierTo)) / 86_400_000);
		return {
			...asked,
			from: earlierFrom,
			to: earlierTo,
			...boundsOf(earlierFrom, earlierTo, timezone),
			asOfMs: asOf.subtract({ days: between }).epochMilliseconds,
		};
	}
	const length = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
	const days = than === 'year' ? 364 : Math.ceil(length / 7) * 7;
	const before = (day: string) => String(Temporal.PlainDate.from(day).subtract({ days }));
	return {
		...asked,
		from: before(from),
		to: before(to),
		...boundsOf(before(from), before(to), timezone),
		asOfMs: asOf.subtract({ days }).epochMilliseconds,
	};
}

function figuresOf(report: Report, { kind }: ReportQuery, asked: Asked): Figures {
	if (kind === 'attribution') return figures.attributionFigures(report, asked);
	if (kind === 'paths') return figures.pathFigures(report);
	if (kind === 'ltv') return figures.lifetimeValueFigures(report, asked);
	if (kind === 'renewals') return figures.renewalFigures(report, asked);
	if (kind === 'trials') return figures.trialFigures(report, asked);
	if (kind === 'movement') return figures.movementFigures(report, asked);
	if (kind === 'retention') return figures.retentionFigures(report, asked);
	if (kind === 'summary') return figures.summaryFigures(report);
	if (kind === 'activity') return figures.activityFigures(report);
	if (kind === 'funnel') return figures.funnelFigures(report);
	if (kind === 'coverage') return figures.coverageFigures(report, asked);
	return figures.spendingFigures(report, asked);
}

function sumsOf(log: Log, { kind, model }: ReportQuery, asked: Asked): Figures {
	if (kind === 'attribution') return paths.attribution(log, asked);
	if (kind === 'paths') return paths.paths(log, asked);
	if (kind === 'ltv')
		return new Map([
			...cohorts.lifetimeValues(log, asked),
			...subscriptions.customerValues(log, asked),
			...subscriptions.projections(log, asked),
		]);
	if (kind === 'renewals') return subscriptions.renewals(log, asked);
	if (kind === 'trials') return subscriptions.trials(log, asked);
	if (kind === 'movement') return subscriptions.movement(log, asked);
	if (kind === 'retention') return subscriptions.retention(log, asked);
	if (kind === 'summary') return subscriptions.summary(log, asked);
	if (kind === 'activity') return cohorts.activity(log, asked);
	if (kind === 'funnel') return funnel(log, asked);
	if (kind === 'coverage') return cohorts.coverage(log, asked);
	return cohorts.spending(log, asked, spent, String(model[0]));
}
