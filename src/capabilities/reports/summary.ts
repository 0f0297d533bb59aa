import { hasLabels } from '../../core/domain/subscription-event.ts';
import { counted } from '../../core/format/numbers.ts';
import { signed } from '../../kit/reports/answer-text.ts';
import {
	type CoursedJourney,
	isPaid,
	knownBefore,
	type PaidJourney,
	warningsOf,
} from '../../kit/reports/courses.ts';
import { allTime, type Journey } from '../../kit/reports/journey.ts';
import { readSubscriptions } from '../../kit/reports/read-journeys.ts';
import { type FlatRow, headed, reportThat } from '../../kit/reports/report.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import { unknownNames } from './unknown-names.ts';

const daysBefore = 7;

interface Standing {
	readonly payingSubscriptions: number;
	readonly pastDueSubscriptions: number;
	/** Null where it is unknown how often anybody pays. */
	readonly recurringPence: number | null;
	readonly annualRecurringPence: number | null;
	readonly pastDuePence: number | null;
	readonly cancelledSubscriptions: number;
	readonly leftByWill: number;
	readonly lapsed: number;
}

/** What is paid for at the moment that some courses are of, and who has left of those that were paying a week before. */
function standingOf(journeys: readonly CoursedJourney[], weekBefore: readonly CoursedJourney[]): Standing {
	const paying = journeys.filter(isPaying).map(({ course }) => course);
	const were = new Set(weekBefore.filter(isPaying).map(({ subscription }) => subscription.subid));
	const left = journeys
		.filter(({ course, subscription }) => course?.state === 'ended' && were.has(subscription.subid))
		.map(({ course }) => course?.hasEndedByWill);
	const pastDue = paying.filter(({ state }) => state === 'at risk');
	const isUnknown = paying.length > 0 && paying.every(({ cadence, isPaidOnce }) => !cadence && !isPaidOnce);
	const recurringOf = (some: typeof paying) =>
		isUnknown ? null : sumOf(some, (course) => course.recurringPence);
	const recurringPence = recurringOf(paying);
	return {
		payingSubscriptions: paying.length,
		pastDueSubscriptions: pastDue.length,
		cancelledSubscriptions: paying.filter(({ state }) => state === 'cancelled').length,
		recurringPence,
		annualRecurringPence: recurringPence === null ? null : 12 * recurringPence,
		pastDuePence: recurringOf(pastDue),
		leftByWill: left.filter((isByWill) => isByWill).length,
		lapsed: left.filter((isByWill) => !isByWill).length,
	};
}

function isPaying(journey: CoursedJourney): journey is PaidJourney {
	return isPaid(journey) && journey.course.state !== 'ended';
}

function changeOf(now: Standing, before: Standing): Standing {
	const names = Object.keys(now) as (keyof Standing)[];
	return Object.fromEntries(
		names.map((name) => {
			const [after, earlier] = [now[name], before[name]];
			return [name, after === null || earlier === null ? null : after - earlier];
		}),
	) as unknown as Standing;
}

export const summaryReport = reportThat({
	kind: 'summary',
	title: 'Summary',
	summary: 'paying subscriptions and recurring revenue, today and a week ago',
	definition:
		'Now, and at the same time of day a week before, as it was known then: `payingSubscriptions` have been paid for and have not ended. Of them, `pastDueSubscriptions` are past due but may still be renewed, and `cancelledSubscriptions` are cancelled and end when due. `recurringPence` is the recurring revenue a month, `pastDuePence` its part that is past due, and `annualRecurringPence` 12 times `recurringPence`. Of those that were paying seven days earlier and no longer are, `leftByWill` had cancelled or were refunded, and `lapsed` were not renewed in time. The third row is the change.',
	parameters: ['asOf', 'timezone', 'evt', 'period'],
	initial: { by: [] },
	columns: {
		...headed({ payingSubscriptions: 'paying subscriptions', pastDueSubscriptions: 'of them past due' }),
		...headed({ recurringPence: 'recurring a month', annualRecurringPence: 'recurring a year' }),
		...headed({ cancelledSubscriptions: 'of them cancelled', pastDuePence: 'past due a month' }),
		...headed({ leftByWill: 'left by choice in the week', lapsed: 'lapsed in the week' }),
	},
	async make({ query, asOfMs, calendar, read, coursesAt }) {
		const all = await read((options) => readSubscriptions({ ...options, period: allTime }));
		const beforeMs = calendar.daysBefore(asOfMs, daysBefore);
		const chosenAt = (journeys: readonly Journey[], atMs: number) =>
			coursesAt(journeys, atMs).filter(({ subscription }) => hasLabels(subscription, query));
		const knownAt = (atMs: number) => chosenAt(knownBefore(all, atMs + 1), atMs);
		const courses = chosenAt(all, asOfMs);
		const weekBefore = knownAt(beforeMs);
		const now = standingOf(courses, weekBefore);
		const before = standingOf(weekBefore, knownAt(calendar.daysBefore(beforeMs, daysBefore)));
		const dated = (atMs: number) => calendar.dayOf(atMs);
		return {
			rows: [
				{ moment: 'now', day: dated(asOfMs), ...now },
				{ moment: 'a week before', day: dated(beforeMs), ...before },
				{ moment: 'change', day: null, ...changeOf(now, before) },
			],
			warnings: [
				...unknownNames({ events: all.map(({ subscription }) => subscription), paths: [] }, query),
				...warningsOf(courses),
			],
		};
	},
	answer({ rows: [now, , change] }, money) {
		if (!now || !change || now.payingSubscriptions === 0) return null;
		const { payingSubscriptions, recurringPence, leftByWill, lapsed, pastDueSubscriptions, pastDuePence } =
			now;
		const recurring =
			recurringPence === null || change.recurringPence === null
				? ''
				: `, at ${money(recurringPence)} a month, ${signed(change.recurringPence, money)} in a week`;
		const due =
			pastDueSubscriptions === 0
				? ''
				: ` ${counted(pastDueSubscriptions, 'of them is', 'of them are')} past due and may still be lost${pastDuePence === null ? '' : ` (${money(pastDuePence)})`}.`;
		return `${counted(payingSubscriptions, 'subscription pays', 'subscriptions pay')}${recurring}; in the week, ${leftByWill} cancelled and ${lapsed} lapsed.${due}`;
	},
	table: ({ rows }) => rows as readonly FlatRow[],
	draw: ({ rows }, _, money) =>
		bars(
			rows
				.filter(({ moment }) => moment !== 'change')
				.map(({ moment, recurringPence }) => ({ moment, recurringPence })),
			'recurringPence',
			{ title: 'Recurring revenue a month', money },
		),
});
