import { dayMs } from '../durations.ts';
import { type PaidJourney, planOf } from './courses.ts';
import { type ShareWithBounds, withBounds } from './share-interval.ts';

/** What is expected, with the bounds of 95 % of what may come. */
export interface Projection {
	readonly pence: number;
	readonly lowPence: number;
	readonly highPence: number;
}

const horizonDays = 365;

/** The share of each plan's dues that are renewed. Where few were due, the share is near a half, and its bounds are far apart. */
export function renewalRatesOf(journeys: readonly PaidJourney[]): (plan: string) => ShareWithBounds {
	const dues = new Map<string, { due: number; renewed: number }>();
	for (const journey of journeys) {
		const { course } = journey;
		const plan = planOf(journey);
		const counts = dues.getOrInsertComputed(plan, () => ({ due: 0, renewed: 0 }));
		// Also those after one that is not over, such as an annual payment before monthly ones.
		counts.due += course.renewed.filter((isRenewed) => isRenewed !== null).length;
		counts.renewed += course.renewed.filter((isRenewed) => isRenewed).length;
	}
	return (plan) => {
		const { due, renewed } = dues.get(plan) ?? { due: 0, renewed: 0 };
		if (due === 0) return { share: 0.5, low: 0, high: 1 };
		const { low, high } = withBounds(renewed / due, due);
		return { share: (low + high) / 2, low, high };
	};
}

/**
 * What subscriptions that are paid for will pay in the next year: at each due day the price, if they renew this time and each
 * time before.
 */
export function projectionOf(
	journeys: readonly PaidJourney[],
	rateOf: (plan: string) => ShareWithBounds,
	asOfMs: number,
): Projection {
	let [pence, low, high, variance] = [0, 0, 0, 0];
	for (const journey of journeys) {
		const { state, cadence, dueAtMs } = journey.course;
		if (!cadence || dueAtMs === null || state === 'ended' || state === 'at risk') continue;
		const leftDays = horizonDays - (dueAtMs - asOfMs) / dayMs;
		if (leftDays < 0) continue;
		const times = 1 + Math.floor(leftDays / cadence.days);
		const price = journey.payments.at(-1)?.pricePence ?? 0;
		const rate = rateOf(planOf(journey));
		const expected = renewalsIn(times, rate.share);
		pence += price * expected;
		low += price * renewalsIn(times, rate.low);
		high += price * renewalsIn(times, rate.high);
		variance += price ** 2 * (squaredRenewalsIn(times, rate.share) - expected ** 2);
	}
	const chance = 1.96 * Math.sqrt(Math.max(0, variance));
	return {
		pence: Math.round(pence),
		lowPence: Math.max(0, Math.round(low - chance)),
		highPence: Math.round(high + chance),
	};
}

/** The expected number of renewals where each is as likely, and nothing comes after one that does not. */
function renewalsIn(times: number, share: number): number {
	return share === 1 ? times : (share * (1 - share ** times)) / (1 - share);
}

/** The expected square of that number. */
function squaredRenewalsIn(times: number, share: number): number {
	let sum = 0;
	for (let time = 1; time <= times; time++) sum += (2 * time - 1) * share ** time;
	return sum;
}
