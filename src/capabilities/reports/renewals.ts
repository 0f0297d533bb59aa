import type { Course } from '../../core/domain/subscription-course.ts';
import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import { boundedText, extremesText } from '../../kit/reports/answer-text.ts';
import {
	begunIn,
	type CoursedJourney,
	type PaidJourney,
	soldPlanOf,
	warningsOf,
} from '../../kit/reports/courses.ts';
import { columnOf, groupsOf } from '../../kit/reports/grouping.ts';
import { ratio, rounded, type Terms } from '../../kit/reports/journey.ts';
import { quotedName } from '../../kit/reports/label.ts';
import { type FlatRow, headed, reportThat, styled } from '../../kit/reports/report.ts';
import { curves } from '../../kit/reports/report-curves.ts';
import { pathParameters } from '../../kit/reports/report-query.ts';
import { Survival } from '../../kit/reports/share-interval.ts';

const maxAges = 60;

/**
 * Counts renewals, of the subscriptions that began in a period. Rows are by what was known when they began, their `evt` and how
 * often their first price is paid: by what became of them, those who stayed would be in one row, and those who left in another.
 */
export function describeRenewals(
	journeys: readonly CoursedJourney[],
	{ by, period, asOfMs }: Pick<Terms, 'by' | 'period' | 'asOfMs'>,
) {
	return groupsOf(begunIn(journeys, period), by)
		.flatMap(({ values, members }) =>
			[...Map.groupBy(members, soldPlanOf).values()].map((own) => ({ values, own })),
		)
		.sort((a, b) => b.own.length - a.own.length)
		.map(({ values, own }) => {
			const [{ subscription }] = own as [PaidJourney, ...PaidJourney[]];
			const days = own.map(({ soldCadence }) => soldCadence?.days).filter((each) => each !== undefined);
			const ages = days.length > 0 ? agesOf(own, asOfMs) : [];
			return {
				...values,
				evt: subscription.evt,
				// The median of their cadences; null if it is unknown how often they are paid.
				periodDays: days.length > 0 ? rounded(medianOf(days), 2) : null,
				subscriptions: own.length,
				eligible: ages.map(({ eligible }) => eligible),
				renewed: ages.map(({ renewed }) => renewed),
				refundRate: ratio(own.filter(hasRefund).length, own.length),
				survivors: survivorsOf(ages),
			};
		});
}

function hasRefund({ subscription }: PaidJourney): boolean {
	return subscription.steps.some(({ kind }) => kind === 'refund');
}

function medianOf(values: readonly number[]): number {
	const sorted = Float64Array.from(values).sort();
	return sorted[sorted.length >> 1] as number;
}

interface Age {
	/** How many could have renewed so often, and how many of them did. */
	eligible: number;
	renewed: number;
	/** Those that had renewed every time before, and whose time to renew again is over, and how many of them did. */
	atRisk: number;
	stayed: number;
}

/** By the number of renewals. One that was not renewed once is no longer at risk. */
function agesOf(journeys: readonly PaidJourney[], asOfMs: number): Age[] {
	const ages: Age[] = [];
	for (const { course, payments } of journeys) {
		const dues = duesOf(course);
		const lastAtMs = payments.at(-1)?.atMs as number;
		const chances = Math.min(maxAges, dues + chancesSince(course, lastAtMs, asOfMs));
		for (let age = 1; age <= chances; age++) {
			const at = ages[age - 1] ?? { eligible: 0, renewed: 0, atRisk: 0, stayed: 0 };
			ages[age - 1] = at;
			const isRenewed = course.renewed[age - 1] === true;
			at.eligible++;
			if (isRenewed) at.renewed++;
			if (age <= dues) at.atRisk++;
			if (age <= dues && isRenewed) at.stayed++;
		}
	}
	return ages;
}

/** How many payments of a subscription are over. */
function duesOf({ renewed }: Course): number {
	const open = renewed.indexOf(null);
	return open < 0 ? renewed.length : open;
}

/** How often one that was not renewed could have been since. */
function chancesSince({ cadence, graceDays, renewed }: Course, lastAtMs: number, asOfMs: number): number {
	if (!cadence || renewed.at(-1) !== false) return 0;
	const sinceDays = (asOfMs - lastAtMs) / dayMs - cadence.days - graceDays;
	return Math.max(0, Math.floor(sinceDays / cadence.days));
}

/** The share that remains after each payment but the first (Kaplan–Meier), with its 95 % interval. */
function survivorsOf(ages: readonly Age[]) {
	const survival = new Survival();
	return ages
		.filter(({ atRisk }) => atRisk > 0)
		.map(({ atRisk, stayed }, place) => ({
			age: place + 1,
			atRisk,
			renewed: stayed,
			...survival.step(stayed, atRisk),
		}));
}

/** Fewer say little. */
const leastAtRisk = 10;

const namesOf = (row: object) => row as Readonly<Record<string, string | number | null>>;

export const renewalsReport = reportThat({
	kind: 'renewals',
	title: 'Renewals',
	summary: 'who renews, and who is refunded',
	definition:
		'The subscriptions that began in the period, by first touch, `evt` and the cadence of their first price. `survivors` has an entry for each renewal, from the first on. `atRisk` is how many had renewed each time before, and whose time to renew again, grace included, is over. `renewed` is how many of these did. `share` is the part still subscribed, the product of these rates so far: if 80 of 100 renew once, and 45 of 50 again, it is 0.8, then 0.72.',
	parameters: [...pathParameters, 'period'],
	knowsPlans: true,
	columns: {
		...styled(['refundRate', 'low', 'high'], { isShare: true }),
		...headed({ periodDays: 'days between payments', age: 'renewal', eligible: 'could have renewed' }),
		...headed({ atRisk: 'due', stayed: 'of these renewed' }),
		survivors: { isShare: true, heading: 'still subscribed' },
	},
	async make({ query, period, asOfMs, courses }) {
		const { lookbackDays, by } = query;
		const journeys = await courses();
		const rows = describeRenewals(journeys, { by, period, asOfMs });
		return { lookbackDays, by, rows, warnings: warningsOf(journeys) };
	},
	answer({ rows, by }) {
		const first = rows.flatMap(({ survivors: [at], evt, periodDays, ...row }) =>
			at && periodDays !== null && at.atRisk >= leastAtRisk
				? [
						{
							...at,
							evt,
							days: Math.round(periodDays),
							name: by.map((each) => namesOf(row)[columnOf(each)]).join(' / '),
						},
					]
				: [],
		);
		const [largest] = first.toSorted((a, b) => b.atRisk - a.atRisk);
		if (!largest) return null;
		// Plans of other lengths are renewed otherwise.
		const alike = first.filter(({ evt, days }) => evt === largest.evt && days === largest.days);
		const plan = `${quotedName(largest.evt)}, paid every ${counted(largest.days, 'day')}`;
		return (
			extremesText(alike, {
				share: `First renewals of ${plan}`,
				left:
					rows.filter(
						({ evt, periodDays }) =>
							evt === largest.evt && periodDays !== null && Math.round(periodDays) === largest.days,
					).length - alike.length,
			}) ?? `Of ${plan}, ${boundedText(largest)} renewed when it was first due.`
		);
	},
	table: ({ rows }) => rows.flatMap(rowPerAge),
	draw({ rows, by }) {
		const told = rows.filter(({ survivors }) => survivors.length > 0);
		const hasOnePlan = new Set(told.map(({ evt, periodDays }) => `${evt} ${periodDays}`)).size < 2;
		return curves(
			told.map(({ survivors, periodDays, evt, ...row }) => {
				const values = by.map((each) => namesOf(row)[columnOf(each)]);
				const plan = [quotedName(evt), `${Math.round(periodDays ?? 0)} days`];
				return {
					name: [...values, ...(hasOnePlan && values.length > 0 ? [] : plan)].join(' · '),
					points: [
						{ x: '0', y: 1, low: 1, high: 1 },
						...survivors.map(({ age, share: y, low, high }) => ({ x: String(age), y, low, high })),
					],
				};
			}),
			{
				title: 'Still subscribed after each renewal, with the 95 % interval',
				isShare: true,
				across: 'renewals',
			},
		);
	},
});

function rowPerAge({
	eligible,
	renewed,
	survivors,
	...group
}: ReturnType<typeof describeRenewals>[number]): FlatRow[] {
	return (survivors.length > 0 ? survivors : [undefined]).map((at, place) => ({
		...group,
		age: at?.age ?? null,
		eligible: at ? (eligible[place] as number) : null,
		renewed: at ? (renewed[place] as number) : null,
		atRisk: at?.atRisk ?? null,
		stayed: at?.renewed ?? null,
		survivors: at?.share ?? null,
		low: at?.low ?? null,
		high: at?.high ?? null,
	}));
}
