import { dayMs } from '../durations.ts';
import { countBelow } from '../scoring/rows/count-below.ts';
import { type CoursedJourney, isPaid, type PaidJourney, planOf } from './courses.ts';

/**
 * What is known only later. A subscription that is due and has not paid may still renew until its grace is over: until then
 * figures that count it as there are provisional.
 */

/** A figure that can still change: what it becomes at least and at most, and what is likely. */
export interface Provisional {
	readonly low: number;
	readonly likely: number;
	readonly high: number;
}

/** Whether it is due and may still renew. */
export function isOpen({ course }: CoursedJourney): boolean {
	return course?.state === 'at risk';
}

/** What became of earlier dues: after how many days those were paid that were paid late, and how many never were in time. */
interface Earlier {
	readonly lateDays: number[];
	lost: number;
}

/**
 * How likely a subscription that is due does not renew: of the dues of its plan that were as late before, the share that was not
 * paid in time. All plans together count as ten of them.
 */
export function chanceOfLoss(
	journeys: readonly CoursedJourney[],
	asOfMs: number,
): (journey: PaidJourney) => number {
	const all: Earlier = { lateDays: [], lost: 0 };
	const ofPlans = new Map<string, Earlier>();
	for (const journey of journeys.filter(isPaid)) {
		const { payments, course } = journey;
		const { cadence, dueAtMs, lapsesAtMs } = course;
		if (!cadence || dueAtMs === null || lapsesAtMs === null) continue;
		const graceDays = (lapsesAtMs - dueAtMs) / dayMs;
		const own = ofPlans.getOrInsertComputed(planOf(journey), () => ({ lateDays: [], lost: 0 }));
		for (const [place, isRenewed] of course.renewed.entries()) {
			if (isRenewed === null) continue;
			const [paidMs, nextMs] = [payments[place]?.atMs ?? 0, payments[place + 1]?.atMs];
			const lateDays = nextMs === undefined ? Infinity : (nextMs - paidMs) / dayMs - cadence.days;
			for (const earlier of [own, all])
				if (lateDays > graceDays) earlier.lost++;
				else if (lateDays > 0) earlier.lateDays.push(lateDays);
		}
	}
	for (const { lateDays } of [all, ...ofPlans.values()]) lateDays.sort((a, b) => a - b);
	const shareOf = ({ lateDays, lost }: Earlier, ageDays: number, prior: number, weight: number) => {
		const later = lateDays.length - countBelow(lateDays, (days) => days <= ageDays);
		return (lost + prior * weight) / (lost + later + weight);
	};
	return (journey) => {
		const ageDays = (asOfMs - (journey.course.dueAtMs ?? asOfMs)) / dayMs;
		const own = ofPlans.get(planOf(journey)) ?? { lateDays: [], lost: 0 };
		return shareOf(own, ageDays, shareOf(all, ageDays, 0.5, 1), 10);
	};
}

/** A figure between the two values that it has if all renew or none does. @param among further values that it may have */
export function provisional(likely: number, among: readonly number[]): Provisional {
	const low = Math.min(...among);
	const high = Math.max(...among);
	return { low, likely: Math.min(high, Math.max(low, likely)), high };
}
