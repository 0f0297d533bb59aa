import type { RenewalDays } from '../../../core/domain/subscription-cadence.ts';
import { moneyOf } from '../../../core/format/money.ts';
import type { Account } from '../../../core/store/control/account-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { printLine } from '../../../kit/cli/output.ts';
import type { CoursedJourney } from '../../../kit/reports/courses.ts';
import { allTime } from '../../../kit/reports/journey.ts';
import type { TimelineEntry } from '../timeline.ts';

/** All subscriptions of an account, without their touches. */
export async function accountCourses(
	store: Store,
	{ id, renewalDays, graceDays, cancellationEvt }: Account,
	/** @param options.asOf in milliseconds since 1970; now, if it is missing */
	{ asOf, period }: { readonly asOf?: number; readonly period?: RenewalDays },
): Promise<readonly CoursedJourney[]> {
	const { coursesOf } = await import('../../../kit/reports/courses.ts');
	const { readSubscriptions } = await import('../../../kit/reports/read-journeys.ts');
	const asOfMs = asOf ?? store.now();
	const reading = readSubscriptions({ asOfMs, isPast: asOf !== undefined, period: allTime, cancellationEvt });
	return coursesOf(await store.read(id, reading), { ...renewalDays, ...period }, asOfMs, { graceDays });
}

/** @param withSubids whether it is of several subscriptions */
export async function printTimeline(
	timeline: readonly TimelineEntry[],
	{ currency }: Account,
	withSubids: boolean,
): Promise<void> {
	const { tableLines } = await import('../../../kit/reports/report-table.ts');
	const { timelineColumns, timelineRows } = await import('../timeline.ts');
	const rows = timelineRows(timeline, withSubids);
	for (const line of tableLines(rows, moneyOf(currency), timelineColumns)) printLine(line);
}
