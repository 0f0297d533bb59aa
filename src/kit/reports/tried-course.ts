import {
	type Cadence,
	type Cadences,
	calendarMonthsOf,
	type Payment,
} from '../../core/domain/subscription-cadence.ts';
import { type Course, courseOf, coverOf, noCover } from '../../core/domain/subscription-course.ts';
import { dayMs } from '../../core/durations.ts';

/** What was before a subscription: it was free, or cost what is paid once to try. */
export interface SubscriptionTrial {
	/** At least one. */
	readonly payments: readonly Payment[];
	/** Until when the first payment of the subscription is in time, whether it came or not; null if nothing tells how long a trial is. */
	readonly decidedAtMs: number | null;
	/** When the subscription began; null if it has not. */
	readonly convertedAtMs: number | null;
}

/** How a subscription has gone, and the trial before it. */
export interface TriedCourse {
	readonly trial: SubscriptionTrial | null;
	/** From the first one above the price of a trial, with which the subscription begins. Empty if it has not. */
	readonly payments: readonly Payment[];
	/** Of the first of them, by its price alone: how often the plan was to be paid that was sold. Null if nothing is known. */
	readonly soldCadence: Cadence | null;
	/** Of these payments. Without any, that of the trial: nothing has moved. */
	readonly course: Course;
}

/** How near a refund must be to the unused share, of days and of whole months. Smaller shares end nothing. */
const [nearUnused, nearUnusedMonths, minUnused] = [0.04, 0.02, 0.1];

/** Payments of which the unused share was paid back are over at that moment, as those are of which all was. */
function endedByRefunds(
	evt: string,
	payments: readonly Payment[],
	cadences: Cadences,
	asOfMs: number,
): readonly Payment[] {
	if (payments.every(({ partRefund }) => !partRefund)) return payments;
	const of = cadences.of({ evt, payments }, asOfMs);
	return payments.map((payment, place) => {
		const { atMs, pricePence, refundedAtMs, partRefund } = payment;
		const cadence = of[place];
		if (!partRefund || !cadence || refundedAtMs !== null) return payment;
		const unused = 1 - (partRefund.atMs - atMs) / (cadence.days * dayMs);
		const share = partRefund.pence / pricePence;
		const months = calendarMonthsOf(cadence.days) ?? 1;
		const isOfMonths =
			months > 1 && Math.abs(share - Math.floor(unused * months) / months) <= nearUnusedMonths;
		const isUnused = Math.abs(share - unused) <= nearUnused || isOfMonths;
		return share >= minUnused && unused >= minUnused && isUnused
			? { ...payment, refundedAtMs: partRefund.atMs }
			: payment;
	});
}

/** How many of some payments are those of a trial: all, if the subscription has not begun. */
export function trialPayments(
	{ evt, payments }: { readonly evt: string; readonly payments: readonly Payment[] },
	cadences: Cadences,
): number {
	const begun = payments.findIndex(({ pricePence }) => !cadences.isOfTrial(evt, pricePence));
	return begun < 0 ? payments.length : begun;
}

/**
 * Tells a trial from the subscription after it, and how that has gone.
 * @param payments at least one, all up to the moment
 */
export function triedCourseOf(
	{ evt, payments: all }: { readonly evt: string; readonly payments: readonly Payment[] },
	cadences: Cadences,
	asOfMs: number,
): TriedCourse {
	const begun = trialPayments({ evt, payments: all }, cadences);
	const payments = endedByRefunds(evt, all.slice(begun), cadences, asOfMs);
	const tried = all.slice(0, begun);
	const [first] = tried;
	const cadence = first ? cadences.longest(evt, first) : null;
	const trial = first && {
		payments: tried,
		decidedAtMs:
			cadence && coverOf(first, { evt, cadence, cadences }, { cover: noCover, day: null }).cover.lapsesAtMs,
		convertedAtMs: payments[0]?.atMs ?? null,
	};
	if (payments[0])
		return {
			trial: trial ?? null,
			payments,
			soldCadence: cadences.longest(evt, payments[0]),
			course: courseOf({ evt, payments }, cadences, asOfMs),
		};
	const course = courseOf({ evt, payments: all }, cadences, asOfMs);
	const state = course.state === 'ended' ? 'trial ended' : 'trial';
	return {
		trial: trial ?? null,
		payments,
		soldCadence: null,
		course: { ...course, movements: [], renewed: [], recoveredAtMs: [], recurringPence: 0, state },
	};
}
