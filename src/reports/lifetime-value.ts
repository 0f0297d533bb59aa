import { addMonths, monthsBetween } from './calendar.ts';
import { acquiredAtMs, acquiredIn, type Journey, rounded, type Terms } from './journey.ts';
import { type Dimensions, dimensionsOf, firstLabel } from './label.ts';
import { reportThat } from './report.ts';
import { pathParameters } from './report-query.ts';
import { numbered } from './report-table.ts';

/** Subscriptions acquired in one month, by their first touch. */
export interface LifetimeValueRow extends Dimensions {
	readonly month: string;
	readonly subscriptions: number;
	/**
	 * Their revenue up to the end of the month of acquisition, of the next month, and so on; null for months that have
	 * not ended.
	 */
	readonly cumulativePence: readonly (number | null)[];
	/** The same per subscription. */
	readonly ltvPence: readonly (number | null)[];
}

/** The value of subscriptions by their age in calendar months and their path's first touch. */
export function lifetimeValues(
	journeys: readonly Journey[],
	{ by, period, asOfMs, calendar }: Pick<Terms, 'by' | 'period' | 'asOfMs' | 'calendar'>,
): LifetimeValueRow[] {
	const cohorts = new Map<string, { month: string; label: string; subscriptions: number; pence: number[] }>();
	for (const { subscription, path } of acquiredIn(journeys, period)) {
		const month = calendar.monthOf(acquiredAtMs(subscription));
		const label = firstLabel(path, by);
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
			...dimensionsOf(label, by),
			subscriptions,
			cumulativePence,
			ltvPence: cumulativePence.map((value) => (value === null ? null : rounded(value / subscriptions, 2))),
		};
	});
}

function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

export const lifetimeValueReport = reportThat({
	kind: 'ltv',
	title: 'Lifetime value',
	summary: 'what subscriptions earn, by month of acquisition',
	definition:
		'By month of acquisition and first touch: `LTV(k) = Σ revenue of events up to the end of the k-th calendar month after that of the acquisition ÷ n`; 0 is the month itself.',
	parameters: pathParameters,
	columns: { ltvPence: { isShaded: true } },
	async make({ query, period, asOfMs, calendar, journeys: read }) {
		const { lookbackDays, by } = query;
		const { journeys } = await read();
		return { lookbackDays, by, rows: lifetimeValues(journeys, { by, period, asOfMs, calendar }) };
	},
	table: ({ rows }) =>
		rows.map(({ cumulativePence: _, ltvPence, ...row }) => ({
			...row,
			...numbered('ltvPence', ltvPence, 0),
		})),
	draw: () => '',
});
