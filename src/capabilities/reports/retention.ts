import type { Movement } from '../../core/domain/subscription-course.ts';
import { counted } from '../../core/format/numbers.ts';
import { boundedText, extremesText } from '../../kit/reports/answer-text.ts';
import { addMonths, type Calendar, monthsBetween } from '../../kit/reports/calendar.ts';
import { begunIn, isPaid, type PaidJourney, warningsOf } from '../../kit/reports/courses.ts';
import { columnOf, type GroupValues } from '../../kit/reports/grouping.ts';
import { penceByAge, type Terms } from '../../kit/reports/journey.ts';
import { type FlatRow, headed, reportThat, styled } from '../../kit/reports/report.ts';
import { curves, monthsAcross } from '../../kit/reports/report-curves.ts';
import { pathParameters } from '../../kit/reports/report-query.ts';
import { numbered } from '../../kit/reports/report-table.ts';
import { type ShareWithBounds, Survival, shareText } from '../../kit/reports/share-interval.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import { byAge, cohortsOf } from './cohorts.ts';
import { isOpen } from './open-dues.ts';
import { Renewals } from './projection.ts';

/** Subscriptions that began in one month. */
export type RetainedCohort = ReturnType<typeof retained>;
/** A row with its month and the values of its dimensions. */
type NamedRow = RetainedCohort & Readonly<Record<string, unknown>>;

/**
 * By month of the first payment, then by group.
 * @param maxAges how many months after it are told
 * @param all also those of other times: what became of their dues tells what is likely
 */
export function retainedCohorts(
	journeys: readonly PaidJourney[],
	{ by, asOfMs, calendar }: Pick<Terms, 'by' | 'asOfMs' | 'calendar'>,
	maxAges: number,
	all: readonly PaidJourney[] = journeys,
): NamedRow[] {
	const renewals = new Renewals(all, asOfMs);
	const lossOf = (journey: PaidJourney) => 1 - renewals.chanceOf(journey).share;
	return cohortsOf(journeys, { by, calendar }).map(({ month, values, members }) => ({
		month,
		...values,
		...retained(month, members, asOfMs, calendar, maxAges, lossOf),
	}));
}

function retained(
	month: string,
	members: readonly PaidJourney[],
	asOfMs: number,
	calendar: Calendar,
	maxAges: number,
	lossOf: (journey: PaidJourney) => number,
) {
	const now = monthsBetween(month, calendar.monthOf(asOfMs));
	const ages = Array.from({ length: Math.min(now + 1, maxAges + 1) }, (_, age) => age);
	const ends = ages.map((age) => calendar.startOfMonth(addMonths(month, age + 1)));
	const active = ages.map(() => 0);
	const open = ages.map(() => 0);
	const likelyLost = ages.map(() => 0);
	for (const member of members) {
		const { movements, dueAtMs } = member.course;
		const chance = isOpen(member) ? lossOf(member) : 0;
		for (const [age, endMs] of ends.entries()) {
			if (!isThereAt(movements, endMs - 1)) continue;
			(active[age] as number)++;
			if (!isOpen(member) || (dueAtMs as number) >= endMs) continue;
			(open[age] as number)++;
			(likelyLost[age] as number) += chance;
		}
	}
	const paid = penceByAge(month, members, calendar);
	const pence = ages.map((age) => paid[age] ?? 0);
	const whenOver = (values: readonly number[]) =>
		values.map((value, age) => ((ends[age] as number) <= asOfMs ? value : null));
	return {
		subscriptions: members.length,
		// Lists are by age in calendar months: how many were there at its end, and what was paid in it, less refunds.
		active: whenOver(active),
		pence: whenOver(pence),
		// Of the active ones, how many were due by then and have not renewed yet, and how many of these are likely to be gone.
		open: whenOver(open),
		likelyGone: whenOver(likelyLost.map(Math.round)),
		// The current month's cohort has nothing else.
		activeNow: members.filter(({ course }) => course.state !== 'ended').length,
		penceToDate: sumOf(paid, (each) => each),
	};
}

function isThereAt(movements: readonly Movement[], ms: number): boolean {
	const last = movements.findLast(({ atMs }) => atMs <= ms);
	return last !== undefined && last.kind !== 'ended';
}

/**
 * All cohorts that have reached an age, weighted by their size. `share` is what is left after each month in turn: of fewer and
 * older cohorts alone, it might rise again.
 */
export function retentionByAge(
	cohorts: readonly Pick<RetainedCohort, 'subscriptions' | 'active' | 'pence' | 'open'>[],
) {
	const survival = new Survival();
	let left: ShareWithBounds = { share: 1, low: 0, high: 1 };
	return Array.from(
		byAge(cohorts, ({ active }) => active),
		({ age, sum }) => {
			const subscriptions = sum((cohort) => cohort.subscriptions);
			const active = sum((cohort) => cohort.active[age] as number);
			const pence = sum((cohort) => cohort.pence[age] as number);
			const before = sum((cohort) => (age === 0 ? cohort.subscriptions : (cohort.active[age - 1] as number)));
			if (before > 0) left = survival.step(active, before);
			return {
				age,
				subscriptions,
				active,
				// Of the active ones, who were due by then and have not renewed yet.
				open: sum((cohort) => cohort.open[age] as number),
				...left,
				pencePerSubscription: Math.round(pence / subscriptions),
			};
		},
	);
}

/** Retention by age of each group, the group with most subscriptions first. */
function retentionByGroup(rows: readonly NamedRow[], by: readonly string[]) {
	return [...Map.groupBy(rows, (row) => by.map((name) => String(row[name])).join(' / '))]
		.map(([name, own]) => ({
			name,
			values: Object.fromEntries(by.map((each) => [each, own[0]?.[each]])) as GroupValues,
			subscriptions: sumOf(own, (row) => row.subscriptions),
			ages: retentionByAge(own),
		}))
		.sort((a, b) => b.subscriptions - a.subscriptions);
}

/** A year is what people ask for. */
const maxAnsweredAge = 12;
/** Fewer that have reached an age say little. */
const [leastOfAll, leastOfGroup] = [20, 10];

const tableTitle = 'Still subscribed at the end of each month since the first payment';

export const retentionReport = reportThat({
	kind: 'retention',
	title: 'Retention',
	summary: 'who stays, by month of the first payment and age',
	definition:
		'By calendar month of the first payment (a cohort): `active[k]` is how many were still subscribed at the end of the k-th month after it, and `pence[k]` what was paid in that month, less refunds. For each k, `all` adds up the cohorts that are old enough.',
	parameters: [...pathParameters, 'period', 'months'],
	knowsPlans: true,
	initial: { by: [] },
	columns: {
		active: { isShaded: true, heading: 'month' },
		paidPence: { isShaded: true, heading: 'month' },
		...styled(['survival', 'low', 'high'], { isShare: true }),
	},
	async make({ query: { by, months, lookbackDays }, period, asOfMs, calendar, courses }) {
		const journeys = await courses();
		const terms = { by, asOfMs, calendar };
		const rows = retainedCohorts(begunIn(journeys, period), terms, months, journeys.filter(isPaid));
		return { lookbackDays, by, months, rows, all: retentionByAge(rows), warnings: warningsOf(journeys) };
	},
	answer({ rows, all, by }) {
		const known = (ages: typeof all, least: number) =>
			ages.findLast(({ age, subscriptions }) => age > 0 && age <= maxAnsweredAge && subscriptions >= least);
		if (by.length === 0) {
			const at = known(all, leastOfAll);
			return at
				? `${boundedText(at)} of ${at.subscriptions} are still subscribed ${counted(at.age, 'month')} after the month of their first payment.`
				: null;
		}
		const groups = retentionByGroup(rows, by.map(columnOf));
		// The last age at which several can be compared.
		const ages = groups.map((group) => known(group.ages, leastOfGroup)?.age ?? 0).sort((a, b) => b - a);
		const age = ages[1] ?? 0;
		const compared = groups.flatMap((group) => {
			const at = group.ages[age];
			return at && at.subscriptions >= leastOfGroup ? [{ name: group.name, ...at }] : [];
		});
		return age === 0
			? null
			: extremesText(compared, {
					share: `Still subscribed after ${counted(age, 'month')}`,
					left: groups.length - compared.length,
				});
	},
	table: ({ rows }) =>
		rows.map((row) => ({
			...shownRow(row),
			...numbered('open', row.open),
			...numbered('likelyGone', row.likelyGone),
		})),
	parts: ({ rows }) => [{ title: tableTitle, rows: rows.map(shownRow) }],
	sideTables: ({ rows, all, by }) => [
		...(rows.some(({ open }) => open.some((count) => Number(count) > 0))
			? [
					{
						title: 'Provisional: of those still subscribed, how many have a late payment',
						rows: rows
							.filter(({ open }) => open.some((count) => Number(count) > 0))
							.map((row) => ({ ...namesOf(row), ...numbered('open', row.open) })),
						columns: { open: { isShaded: true, heading: 'month' } },
					},
				]
			: []),
		{
			title: 'Paid in each month since the first payment',
			rows: rows.map((row) => ({
				...namesOf(row),
				subscriptions: row.subscriptions,
				toDatePence: row.penceToDate,
				...numbered('paidPence', row.pence),
			})),
		},
		...(by.length === 0
			? []
			: [
					{
						title: `Still subscribed by ${by.join(' and ')}, at the end of each month since the first payment`,
						rows: retentionByGroup(rows, by.map(columnOf)).map(({ values, subscriptions, ages }) => ({
							...values,
							subscriptions,
							...numbered(
								'survival',
								ages.map(({ share }) => share),
							),
						})),
						columns: { survival: { isShare: true, isShaded: true, heading: 'month' } },
					},
				]),
		{
			title: 'All months of the first payment together, by months since',
			rows: all.map(rowOfAge),
			columns: {
				...headed({ age: 'months since', active: 'still subscribed', open: 'payment late' }),
				mean: { heading: 'share' },
				survival: { isShare: true, heading: 'estimate' },
				paidEachPence: { heading: 'paid per subscription' },
			},
		},
	],
	draw: ({ all, rows, by }) =>
		curves(
			(by.length === 0 ? [{ name: 'all', ages: all }] : retentionByGroup(rows, by.map(columnOf))).map(
				({ name, ages }) => ({
					name,
					points: ages.map(({ age, share: y, low, high }) => ({ x: String(age), y, low, high })),
				}),
			),
			{
				title: 'Still subscribed at the end of each month since the first payment, with the 95 % interval',
				isShare: true,
				across: monthsAcross,
			},
		),
});

/** The month and the values of the dimensions. */
function namesOf({
	subscriptions: _subscriptions,
	active: _active,
	pence: _pence,
	open: _open,
	likelyGone: _gone,
	activeNow: _now,
	penceToDate: _total,
	...names
}: NamedRow): GroupValues {
	return names as unknown as GroupValues;
}

function shownRow(row: NamedRow): FlatRow {
	const { subscriptions, activeNow, active } = row;
	return { ...namesOf(row), subscriptions, activeNow, ...numbered('active', active) };
}

function rowOfAge(at: ReturnType<typeof retentionByAge>[number]): FlatRow {
	const { share: survival, low, high, pencePerSubscription: paidEachPence, ...counts } = at;
	const mean = shareText(counts.active, counts.subscriptions);
	return { ...counts, mean, survival, low, high, paidEachPence };
}
