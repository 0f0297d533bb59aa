import { paymentProviders } from '../domain/touch.ts';
import { moneyOf } from '../format/money.ts';
import type { CoursedJourney, RenewalDays } from '../reports/courses.ts';
import type { TimelineEntry } from '../reports/timeline.ts';
import type { VisitorRecord } from '../store/account/reading/visitor-record.ts';
import type { Account } from '../store/control/accounts.ts';
import type { Store } from '../store/store.ts';
import { printLine } from './output.ts';

interface AsOf {
	/** In milliseconds since 1970; now, if it is missing. */
	readonly asOf?: number;
}

/** All subscriptions of an account, without their touches. */
export async function accountCourses(
	store: Store,
	{ id, renewalDays }: Account,
	{ asOf, period }: AsOf & { readonly period?: RenewalDays },
): Promise<readonly CoursedJourney[]> {
	const { readCourses } = await import('../reports/courses.ts');
	const reading = readCourses(
		{
			...{ asOfMs: asOf ?? store.now(), isPast: asOf !== undefined },
			...{ needsPaths: false, lookbackDays: 0, paymentProviders: new Set() },
		},
		{ ...renewalDays, ...period },
	);
	return store.read(id, reading);
}

/** What happened to a visitor, if there is one, and to some subscriptions. */
export async function timelineAbout(
	store: Store,
	account: Account,
	{ record, journeys }: { record: VisitorRecord | null; journeys: readonly CoursedJourney[] },
	{ asOf }: AsOf,
): Promise<TimelineEntry[]> {
	const { readTouches } = await import('../reports/read-journeys.ts');
	const { timelineOf } = await import('../reports/timeline.ts');
	const asOfMs = asOf ?? store.now();
	const providers = new Set([...paymentProviders, ...account.paymentProviders]);
	const touches = record
		? await store.read(account.id, readTouches(record.vid, { asOfMs, paymentProviders: providers }))
		: [];
	return timelineOf({ record, touches, journeys, asOfMs });
}

/** @param withSubids whether it is of several subscriptions */
export async function printTimeline(
	timeline: readonly TimelineEntry[],
	{ currency }: Account,
	withSubids: boolean,
): Promise<void> {
	const { tableLines } = await import('../reports/report-table.ts');
	const { timelineColumns, timelineRows } = await import('../reports/timeline.ts');
	const rows = timelineRows(timeline, withSubids);
	for (const line of tableLines(rows, moneyOf(currency), timelineColumns)) printLine(line);
}
