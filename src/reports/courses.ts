import {
	Cadences,
	type CadenceTable,
	cadenceTableOf,
	calendarMonthsOf,
	type Paid,
	type Payment,
} from '../domain/subscription-cadence.ts';
import { type Course, courseOf, paymentsOf } from '../domain/subscription-course.ts';
import { learnedCadences } from '../store/account/reading/payments.ts';
import type { Reading } from '../store/steps.ts';
import type { Journey } from './journey.ts';
import { readSubscriptionsWith } from './read-journeys.ts';

/** A subscription with the touches that led to it, and how it has gone. */
export interface CoursedJourney extends Journey {
	/** Empty if there are only refunds. */
	readonly payments: readonly Payment[];
	/** Null without a payment. */
	readonly course: Course | null;
}

/** One with a payment. */
export interface PaidJourney extends CoursedJourney {
	readonly course: Course;
}

export function isPaid(journey: CoursedJourney): journey is PaidJourney {
	return journey.course !== null;
}

/** Days between renewals that the operator has set, by `evt`. */
export type RenewalDays = Readonly<Record<string, number>>;

/** How some subscriptions have gone. Cadences are learned from a sample of all, so that it takes no longer where there are many. */
export function* readCoursesWith(
	subids: readonly string[],
	asOfMs: number,
	setDays: RenewalDays,
): Reading<CoursedJourney[]> {
	if (subids.length === 0) return [];
	const journeys = yield* readSubscriptionsWith(subids, asOfMs);
	return coursesOf(journeys, setDays, asOfMs, yield* learnedCadences(asOfMs));
}

/**
 * How all subscriptions have gone, whatever a report is about.
 * @param learned what cadences are known by; else they are learned from these subscriptions
 */
export function coursesOf(
	journeys: readonly Journey[],
	setDays: RenewalDays,
	asOfMs: number,
	learned?: CadenceTable,
): CoursedJourney[] {
	const all = journeys.map((journey) => ({ ...journey, payments: paymentsOf(journey.subscription) }));
	const paid = all.map(({ subscription: { evt }, payments }) => ({ evt, payments }));
	const cadences = new Cadences(learned ?? cadenceTableOf(paid, asOfMs), setDays);
	return all.map((journey, place) => ({
		...journey,
		course: journey.payments.length > 0 ? courseOf(paid[place] as Paid, cadences, asOfMs) : null,
	}));
}

/** What tells plans apart: the `evt`, and how often they are paid. */
export function planOf({ subscription: { evt }, course: { cadence } }: PaidJourney): string {
	const days = cadence?.days ?? Number.NaN;
	return `${calendarMonthsOf(days) ?? `${Math.round(days)} days`} ${evt}`;
}

/** What a reader must know of the latest figures. */
export function warningsOf(journeys: readonly CoursedJourney[]): string[] {
	const courses = journeys.filter(isPaid).map(({ course }) => course);
	const atRisk = courses.filter(({ state }) => state === 'at risk').length;
	const unknown = courses.filter(({ cadence }) => cadence === null).length;
	const warnings: string[] = [];
	if (atRisk > 0)
		warnings.push(
			`${atRisk} of ${courses.length} subscriptions are at risk: due, not renewed, and not lost yet. The latest figures do not count them as ended.`,
		);
	if (unknown > 0)
		warnings.push(
			`Nothing tells how often ${unknown} of ${courses.length} subscriptions are paid, so they never end and have no recurring revenue. Set it with --period, or 'caskade account update --renewal-days'.`,
		);
	return warnings;
}
