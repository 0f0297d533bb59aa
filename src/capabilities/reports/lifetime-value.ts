import { compareTexts } from '../../core/domain/compare-texts.ts';
import { addMonths, monthsBetween } from '../../kit/reports/calendar.ts';
import { begunAtMs, begunIn, isPaid, type PaidJourney } from '../../kit/reports/courses.ts';
import { columnOf, type GroupValues } from '../../kit/reports/grouping.ts';
import { penceByAge, rounded, type Terms } from '../../kit/reports/journey.ts';
import { type FlatRow, headed, reportThat } from '../../kit/reports/report.ts';
import { type Curve, curves, monthsAcross } from '../../kit/reports/report-curves.ts';
import { pathParameters } from '../../kit/reports/report-query.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { numbered } from '../../kit/reports/report-table.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import { byAge, cohortsOf } from './cohorts.ts';
import { byCustomer } from './moving-customers.ts';
import { type Projection, projectionOf, Renewals } from './projection.ts';

/** What subscriptions that began in one month earn, by age in calendar months. */
type Earnings = ReturnType<typeof earningsOf>;
/** A row with its month and the values of its dimensions. */
type NamedRow = Earnings &
	Partial<CustomerEarnings> & { readonly projected: Projection } & Readonly<Record<string, unknown>>;
type CustomerEarnings = ReturnType<typeof customerEarningsOf>;

type LifetimeTerms = Pick<Terms, 'by' | 'period' | 'asOfMs' | 'calendar'> & {
	readonly months: number;
	/** The `cid` of a subscription. Without it, nothing is told of customers. */
	readonly customerOf?: (subid: string) => string | undefined;
};

/** The value of subscriptions by the month of their first payment and group. */
export function lifetimeValues(journeys: readonly PaidJourney[], terms: LifetimeTerms): NamedRow[] {
	const { by, period, calendar, asOfMs, months, customerOf } = terms;
	const customers = customerOf && byCustomer(journeys, customerOf);
	const ofFirst = customers && new Map(customers.map((own) => [own[0], own]));
	const first = calendar.monthOf(
		begunIn(journeys, period).reduce((firstMs, journey) => Math.min(firstMs, begunAtMs(journey)), asOfMs),
	);
	const ages = Math.min(months, monthsBetween(first, calendar.monthOf(asOfMs))) + 1;
	const renewalsOf = new Map<readonly PaidJourney[], Renewals>();
	return cohortsOf(journeys, { by, calendar })
		.flatMap(({ month, values, members, group }): NamedRow[] => {
			const own = begunIn(members, period);
			if (own.length === 0) return [];
			const renewals = renewalsOf.getOrInsertComputed(group, () => new Renewals(group, asOfMs));
			const projected = projectionOf(own, renewals, asOfMs);
			const theirs =
				ofFirst && own.flatMap((first) => [ofFirst.get(first) ?? []]).filter(({ length }) => length > 0);
			const ofCustomers = theirs && customerEarningsOf(month, theirs, terms, ages);
			return [{ month, ...values, ...earningsOf(month, own, terms, ages), ...ofCustomers, projected }];
		})
		.sort((a, b) => compareTexts(String(a.month), String(b.month)) || b.subscriptions - a.subscriptions);
}

function earningsOf(
	month: string,
	members: readonly Pick<PaidJourney, 'subscription'>[],
	{ asOfMs, calendar }: LifetimeTerms,
	ages: number,
) {
	const pence = penceByAge(month, members, calendar);
	const penceToDate = sumOf(pence, (each) => each);
	let sum = 0;
	const cumulativePence = Array.from({ length: ages }, (_, age) => {
		sum += pence[age] ?? 0;
		return calendar.startOfMonth(addMonths(month, age + 1)) <= asOfMs ? sum : null;
	});
	const each = (value: number) => rounded(value / members.length, 2);
	return {
		subscriptions: members.length,
		// Nulls for months that have not ended.
		cumulativePence,
		ltvPence: cumulativePence.map((value) => (value === null ? null : each(value))),
		// Up to now: the current month's cohort has nothing else.
		penceToDate,
		ltvToDatePence: each(penceToDate),
	};
}

/** What customers have paid with all their subscriptions, by age from the month of the first payment of the first one. */
function customerEarningsOf(
	month: string,
	customers: readonly (readonly PaidJourney[])[],
	terms: LifetimeTerms,
	ages: number,
) {
	const none = customers.length === 0;
	const { cumulativePence, penceToDate } = earningsOf(month, customers.flat(), terms, ages);
	const each = (pence: number) => rounded(pence / customers.length, 2);
	return {
		// Those whose first subscription is of this row.
		customers: customers.length,
		customerLtvPence: cumulativePence.map((pence) => (pence === null || none ? null : each(pence))),
		customerPenceToDate: penceToDate,
		customerLtvToDatePence: none ? null : each(penceToDate),
	};
}

/**
 * What a subscription of any cohort earns up to an age: the sum over the ages of what those earn at an age who have reached it. A
 * mean of whole values would fall where the last ages are those of other cohorts.
 */
export function valueByAge(rows: readonly Earnings[]) {
	let value = 0;
	return Array.from(
		byAge(rows, ({ cumulativePence }) => cumulativePence),
		({ age, sum }) => {
			const subscriptions = sum((row) => row.subscriptions);
			const before = (row: Earnings) => (age === 0 ? 0 : (row.cumulativePence[age - 1] as number));
			value += sum((row) => (row.cumulativePence[age] as number) - before(row)) / subscriptions;
			return { age, subscriptions, ltvPence: rounded(value, 2) };
		},
	);
}

/** A mean of fewer says little. */
const leastSubscriptions = 20;
const valueTitle = 'Revenue per subscription, up to the end of each month since the first payment';
/** Besides the mean of all. */
const drawnCohorts = 7;

export const lifetimeValueReport = reportThat({
	kind: 'ltv',
	title: 'Lifetime value',
	summary: 'what subscriptions earn, by month of the first payment',
	definition:
		'By month of the first payment and first touch: `LTV(k) = Σ revenue of events up to the end of calendar month k ÷ n subscriptions`; month 0 is that of the first payment. `projected` is what is expected in the next year. `customerLtvPence` is the same by customer, with all subscriptions of each customer whose first one is in the row.',
	parameters: [...pathParameters, 'period', 'months'],
	knowsPlans: true,
	columns: {
		ltvPence: { isShaded: true, heading: 'month' },
		...headed({ ltvToDatePence: 'to date', customerLtvToDatePence: 'to date by customer' }),
		...headed({ ltvProjectedPence: 'projected', ltvProjectedLowPence: 'projected low' }),
		ltvProjectedHighPence: { heading: 'projected high' },
	},
	tableTitle: valueTitle,
	async make({ query: { lookbackDays, by, months }, period, asOfMs, calendar, courses, customers }) {
		const journeys = (await courses()).filter(isPaid);
		const customerOf = await customers();
		const rows = lifetimeValues(journeys, { by, period, asOfMs, calendar, months, customerOf });
		return { lookbackDays, by, months, rows, all: valueByAge(rows) };
	},
	answer({ rows, all }, money) {
		const last = all.findLast(({ subscriptions }) => subscriptions >= leastSubscriptions);
		if (!last) return null;
		const each = sumOf(rows, ({ projected }) => projected.pence) / sumOf(rows, (row) => row.subscriptions);
		return `A subscription has brought ${money(Math.round(last.ltvPence))} by the end of ${last.age === 0 ? 'the month of its first payment' : `month ${last.age} after its first payment`}. In the next 12 months each is expected to bring ${money(Math.round(each))}, ended ones included.`;
	},
	table: ({ rows, all, by }) => [
		...rows.map(flatRow),
		...(rows.length > 1 ? [totalRow(rows, all, by.length)] : []),
	],
	draw({ by, rows, all }, table, money) {
		const curveOf = (name: string, values: readonly (number | null)[]): Curve => ({
			name,
			points: values.map((value, age) => ({ x: String(age), y: value })),
		});
		const meanOf = (name: string, some: typeof all) =>
			curveOf(
				name,
				some.map(({ ltvPence }) => ltvPence),
			);
		const groups = Map.groupBy(rows, (row) => by.map((name) => row[columnOf(name)]).join(' · '));
		const cohorts =
			by.length > 0
				? [...groups].map(([name, own]) => meanOf(name, valueByAge(own)))
				: rows
						.filter(({ ltvPence }) => ltvPence.filter((value) => value !== null).length > 1)
						.slice(-drawnCohorts)
						.map(({ month, ltvPence }) => curveOf(String(month), ltvPence));
		const mean = meanOf('all', all);
		const expected = 'Expected revenue per subscription in the next 12 months, with bounds';
		const bounds = ['ltvProjectedLowPence', 'ltvProjectedHighPence'] as const;
		return [
			curves([mean, ...cohorts], {
				title: valueTitle,
				money,
				across: monthsAcross,
			}),
			bars(table.slice(0, rows.length), 'ltvProjectedPence', { title: expected, money, bounds }),
		];
	},
});

/** Everything per subscription, as what came is: sums beside means would be taken for means. */
function flatRow({
	cumulativePence: _,
	penceToDate: _total,
	customerPenceToDate: _customers,
	customerLtvPence: _byAge,
	projected,
	ltvPence,
	...row
}: NamedRow): FlatRow {
	const each = (pence: number) => rounded(pence / row.subscriptions, 2);
	return {
		...(row as unknown as GroupValues),
		ltvProjectedPence: each(projected.pence),
		ltvProjectedLowPence: each(projected.lowPence),
		ltvProjectedHighPence: each(projected.highPence),
		...numbered('ltvPence', ltvPence),
	};
}

/** In the columns of the others. Bounds do not add up. */
function totalRow(
	rows: readonly NamedRow[],
	all: ReturnType<typeof valueByAge>,
	dimensions: number,
): FlatRow {
	const subscriptions = sumOf(rows, (row) => row.subscriptions);
	const names = Object.keys(rows[0] as NamedRow).slice(1, 1 + dimensions);
	return {
		month: 'all',
		...Object.fromEntries(names.map((name) => [name, null])),
		subscriptions,
		ltvToDatePence: rounded(sumOf(rows, (row) => row.penceToDate) / subscriptions, 2),
		customers: sumOf(rows, (row) => row.customers ?? 0),
		customerLtvToDatePence: rounded(
			sumOf(rows, (row) => row.customerPenceToDate ?? 0) / sumOf(rows, (row) => row.customers ?? 0),
			2,
		),
		ltvProjectedPence: rounded(sumOf(rows, ({ projected }) => projected.pence) / subscriptions, 2),
		ltvProjectedLowPence: null,
		ltvProjectedHighPence: null,
		...numbered(
			'ltvPence',
			all.map(({ ltvPence }) => ltvPence),
		),
	};
}
