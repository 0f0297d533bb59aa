import { addMonths, type Calendar, monthsBetween } from './calendar.ts';
import { acquiredAtMs, isIn, type Journey, type Period, rounded } from './journey.ts';
import { type Grouping, labelOf, labelValues, none } from './label.ts';

export interface LifetimeValueOptions {
	/** Dimensions of the path's first touch. */
	readonly by: Grouping;
	/** Period of the acquisitions. */
	readonly period: Period;
	readonly asOfMs: number;
	readonly calendar: Calendar;
}

/** Subscriptions acquired in one month, by their first touch. */
export interface LifetimeValueRow {
	readonly month: string;
	readonly values: readonly string[];
	readonly subscriptions: number;
	/**
	 * Their revenue up to the end of the month of acquisition, of the next month, and so on; null for months that have
	 * not ended.
	 */
	readonly cumulativePence: readonly (number | null)[];
	/** The same per subscription. */
	readonly ltvPence: readonly (number | null)[];
}

/** The value of subscriptions by their age in calendar months. */
export function lifetimeValues(
	journeys: readonly Journey[],
	{ by, period, asOfMs, calendar }: LifetimeValueOptions,
): LifetimeValueRow[] {
	const cohorts = new Map<string, { month: string; label: string; subscriptions: number; pence: number[] }>();
	for (const { subscription, path } of journeys) {
		const atMs = acquiredAtMs(subscription);
		if (!subscription.acquisition || !isIn(period, atMs)) continue;
		const month = calendar.monthOf(atMs);
		const [first] = path;
		const label = by.length === 0 ? '' : first ? labelOf(first, by) : none;
		const name = `${month} ${label}`;
		let cohort = cohorts.get(name);
		if (!cohort) {
			cohort = { month, label, subscriptions: 0, pence: [] };
			cohorts.set(name, cohort);
		}
		cohort.subscriptions++;
		for (const step of subscription.steps) {
			// A refund that was uploaded before its sale counts from the first month.
			const age = Math.max(0, monthsBetween(month, calendar.monthOf(step.atMs)));
			cohort.pence[age] = (cohort.pence[age] ?? 0) + step.revenuePence;
		}
	}
	const rows = [...cohorts.values()].sort(
		(a, b) => compare(a.month, b.month) || b.subscriptions - a.subscriptions || compare(a.label, b.label),
	);
	const lastMonth = calendar.monthOf(asOfMs);
	const ages = rows[0] ? monthsBetween(rows[0].month, lastMonth) + 1 : 0;
	return rows.map(({ month, label, subscriptions, pence }) => {
		let sum = 0;
		const cumulativePence = Array.from({ length: ages }, (_, age) => {
			sum += pence[age] ?? 0;
			return calendar.startOfMonth(addMonths(month, age + 1)) <= asOfMs ? sum : null;
		});
		return {
			month,
			values: labelValues(label, by),
			subscriptions,
			cumulativePence,
			ltvPence: cumulativePence.map((value) => (value === null ? null : rounded(value / subscriptions, 2))),
		};
	});
}

function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}
