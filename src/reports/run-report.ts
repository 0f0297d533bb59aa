import { OperatorError } from '../errors.ts';
import { seededRandom } from '../scoring/random.ts';
import { spendingRows } from '../store/account/journey-rows.ts';
import type { Store } from '../store/store.ts';
import { attribute } from './attribution.ts';
import { type Calendar, calendarOf } from './calendar.ts';
import { describeCoverage, totalCoverage } from './coverage.ts';
import { acquiredAtMs, isIn, type Journey, type Period } from './journey.ts';
import type { Grouping } from './label.ts';
import { lifetimeValues } from './lifetime-value.ts';
import { defaultModel } from './model.ts';
import { describePaths } from './paths.ts';
import { type ReadOptions, readCoverage, readJourneys } from './read-journeys.ts';
import { readPagesSeen } from './read-pages.ts';
import { describeRenewals } from './renewals.ts';
import type { ReportedAccount, ReportQuery } from './report-query.ts';
import { segmentMembers } from './segment-members.ts';
import { describeSpending } from './spend.ts';

/** A report as JSON. Its rows have the values of their dimensions by name. */
export interface Report {
	readonly [field: string]: unknown;
	readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Fixed, so that a report is repeatable to the last digit. */
const seed = 1;

/** Makes a report of an account as of one moment. */
export async function runReport(
	store: Store,
	account: ReportedAccount,
	query: ReportQuery,
	knownProviders: readonly string[],
): Promise<Report> {
	const calendar = calendarOf(query.timezone ?? account.timezone);
	const asOfMs = query.asOfMs ?? store.now();
	const period = periodOf(query, calendar);
	const { by } = query;
	const [model = defaultModel, ...otherModels] = query.models;
	if (query.kind === 'spend' && otherModels.length > 0)
		throw new OperatorError('spend credits subscriptions by one model; name one.');
	const read: ReadOptions = {
		...{ asOfMs, period, isPast: query.asOfMs !== null, lookbackDays: query.lookbackDays },
		lostBy: needsLostPaths(query) ? by : null,
		paymentProviders: new Set([...knownProviders, ...account.paymentProviders]),
	};
	const head = {
		aid: account.aid,
		from: query.from,
		to: query.to,
		asOf: new Date(asOfMs).toISOString(),
		timezone: calendar.timezone,
		...filtersOf(query),
	};
	if (query.kind === 'coverage') {
		const events = await store.read(account.id, readCoverage(read));
		const counted = query.evt === null ? events : events.filter(({ evt }) => evt === query.evt);
		const rows = describeCoverage(counted, { period, calendar });
		return { ...head, rows: rowsOf(by.length === 0 ? [totalCoverage(rows)] : rows) };
	}
	const { journeys: all, lost } = await store.read(account.id, readJourneys(read));
	const matching = all.filter((journey) => matchesQuery(journey, query));
	const journeys =
		query.segment === null ? matching : await inSegment(store, account, query.segment, matching, read);
	const { basis, lookbackDays, halfLifeDays } = query;
	if (query.kind === 'attribution') {
		const { intervals, models } = query;
		const options = { by, models, period, basis, halfLifeDays, intervals, random: seededRandom(seed) };
		const { totals, rows, warnings } = attribute(journeys, lost, options);
		const settings = { basis, lookbackDays, halfLifeDays, models };
		return { ...head, ...settings, by, totals, rows: named(rows, by), warnings };
	}
	if (query.kind === 'paths') {
		const counted = journeys.filter(({ subscription }) => isIn(period, acquiredAtMs(subscription)));
		const pages = await store.read(account.id, readPagesSeen(counted, read));
		const { rows, ...paths } = describePaths(journeys, { by, period, basis, top: query.top, pages });
		return { ...head, basis, lookbackDays, by, ...paths, rows: rowsOf(rows) };
	}
	if (query.kind === 'ltv') {
		const rows = lifetimeValues(journeys, { by, period, asOfMs, calendar });
		return {
			...head,
			lookbackDays,
			by,
			rows: named(rows, by).map(({ month, ...row }) => ({ month, ...row })),
		};
	}
	if (query.kind === 'renewals') {
		const periodDays = new Map(Object.entries(query.periodDays));
		const rows = describeRenewals(journeys, { by, period, asOfMs, periodDays });
		return { ...head, lookbackDays, by, rows: named(rows, by) };
	}
	const spending = await store.read(account.id, spendingRows());
	const rows = describeSpending(spending, journeys, lost, {
		by,
		model,
		halfLifeDays,
		period,
		calendar,
	});
	return { ...head, lookbackDays, model, by, rows: named(rows, by) };
}

function needsLostPaths({ kind, models }: ReportQuery): boolean {
	return (kind === 'attribution' || kind === 'spend') && models.includes('markov');
}

function matchesQuery({ subscription, path }: Journey, { evt, channel }: ReportQuery): boolean {
	if (evt !== null && subscription.evt !== evt) return false;
	return channel === null || path.some((touch) => touch.channel === channel);
}

/** Only those that are set: they are part of what the report says. */
function filtersOf({ evt, channel, segment }: ReportQuery): Record<string, string> {
	return {
		...(evt !== null && { evt }),
		...(channel !== null && { channel }),
		...(segment !== null && { segment }),
	};
}

async function inSegment(
	store: Store,
	account: ReportedAccount,
	segment: string,
	journeys: readonly Journey[],
	read: ReadOptions,
): Promise<Journey[]> {
	const owners = new Set(journeys.map(({ subscription: { owner } }) => owner));
	const vids = [...owners].filter((vid) => vid !== null);
	const members = await segmentMembers(store, account, segment, vids, read);
	return journeys.filter(({ subscription: { owner } }) => owner !== null && members.has(owner));
}

function periodOf({ from, to }: ReportQuery, calendar: Calendar): Period {
	const period = {
		fromMs: from === null ? Number.NEGATIVE_INFINITY : calendar.startOfDay(from),
		toMs: to === null ? Number.POSITIVE_INFINITY : calendar.startOfDay(to),
	};
	if (period.fromMs >= period.toMs)
		throw new OperatorError('to must be later than from, because the day itself is excluded.');
	return period;
}

/** Adds the values of the dimensions to rows, by name. */
function named<Row extends { readonly values: readonly string[] }>(
	rows: readonly Row[],
	by: Grouping,
): Record<string, unknown>[] {
	return rows.map(({ values, ...row }) => ({
		...Object.fromEntries(by.map((dimension, place) => [dimension, values[place]])),
		...row,
	}));
}

function rowsOf<Row extends object>(rows: readonly Row[]): Record<string, unknown>[] {
	return rows.map((row) => ({ ...row }) as Record<string, unknown>);
}
