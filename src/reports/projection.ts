import { calendarMonthsOf, graceDays, monthDays, type Payment } from '../domain/subscription-cadence.ts';
import { dayMs } from '../durations.ts';
import { countBelow } from '../scoring/rows/count-below.ts';
import { type PaidJourney, planOf } from './courses.ts';
import { type ShareWithBounds, withBounds } from './share-interval.ts';

/** What is expected, with bounds. */
export interface Projection {
	readonly pence: number;
	readonly lowPence: number;
	readonly highPence: number;
}

/** Standard deviations of bounds that hold so often. */
export const zOf = { '95 %': 1.96, '80 %': 1.2816 } as const;

/** Before anybody was due, so many count as having been, and this share of them as renewed. */
const [assumedDues, assumedShare] = [4, 0.8];
/** The same of subscriptions that nobody has renewed after more than a month: they may be no subscriptions. */
const doubtfulShare = 0.4;
/** What plans are mostly sold for. */
const soldDays = [1, 3, 6, 12, 24].map((months) => months * monthDays);

/** The share of a plan's dues that are renewed: of all payments, of those that were paid back, or of the others. */
export type RenewalRates = (plan: string, of: 'all' | 'refunded' | 'kept') => ShareWithBounds;

interface Dues {
	due: number;
	renewed: number;
}

interface PlanDues {
	readonly kept: Dues;
	readonly refunded: Dues;
	/** How long after they were due renewals came, or before. From the earliest. */
	readonly lateMs: number[];
	/** Since the last payment of those whose cadence is unknown, the longest time. */
	silentDays: number;
}

const noDues: PlanDues = {
	kept: { due: 0, renewed: 0 },
	refunded: { due: 0, renewed: 0 },
	lateMs: [],
	silentDays: 0,
};

/** What is known of renewals, by plan. */
export class Renewals {
	readonly #plans = new Map<string, PlanDues>();

	constructor(journeys: readonly PaidJourney[], asOfMs: number) {
		for (const journey of journeys) {
			const { course, payments } = journey;
			const plan = this.#plans.getOrInsertComputed(planOf(journey), () => structuredClone(noDues));
			// Also those after one that is not over, such as an annual payment before monthly ones.
			for (const [place, isRenewed] of course.renewed.entries()) {
				if (isRenewed === null) continue;
				const [paid, next] = [payments[place] as Payment, payments[place + 1]];
				const dues = plan[paid.refundedAtMs === null ? 'kept' : 'refunded'];
				dues.due++;
				if (!isRenewed || !next) continue;
				dues.renewed++;
				if (course.cadence) plan.lateMs.push(next.atMs - dueAfter(paid.atMs, course.cadence.days, 1));
			}
			if (course.cadence === null)
				plan.silentDays = Math.max(plan.silentDays, (asOfMs - (payments.at(-1) as Payment).atMs) / dayMs);
		}
		for (const { lateMs } of this.#plans.values()) lateMs.sort((a, b) => a - b);
	}

	/** How many of a plan were due so far. */
	dueOf(plan: string): number {
		return this.#of(plan).kept.due;
	}

	/**
	 * How often a plan is taken to be paid that nobody has renewed: by the month, or else for the shortest time that plans are sold for
	 * and that is not over. Null if there is none.
	 */
	assumedDays(plan: string): number | null {
		const { silentDays } = this.#of(plan);
		return soldDays.find((days) => silentDays < days + graceDays(days)) ?? null;
	}

	/** @param z how many standard deviations the bounds are apart from the middle */
	rates(z: number): RenewalRates {
		return (plan, of) => {
			const { kept, refunded, silentDays } = this.#of(plan);
			const all = { due: kept.due + refunded.due, renewed: kept.renewed + refunded.renewed };
			const { due, renewed } = { all, kept, refunded }[of];
			if (kept.due === 0) {
				const isMonth = silentDays < (soldDays[0] as number) + graceDays(soldDays[0] as number);
				return { share: isMonth ? assumedShare : doubtfulShare, low: 0, high: 1 };
			}
			const share = (renewed + assumedShare * assumedDues) / (due + assumedDues);
			if (due === 0) return { share, low: 0, high: 1 };
			const { low, high } = withBounds(renewed / due, due, z);
			return { share, low: Math.min(low, share), high: Math.max(high, share) };
		};
	}

	/** The share of a plan's renewals that came until so long after they were due. */
	cameUntil(plan: string, lateMs: number): number {
		const sorted = this.#of(plan).lateMs;
		if (sorted.length === 0) return lateMs >= 0 ? 1 : 0;
		return countBelow(sorted, (late) => late <= lateMs) / sorted.length;
	}

	#of(plan: string): PlanDues {
		return this.#plans.get(plan) ?? noDues;
	}
}

/** When the n-th payment after one is due. Months are those of the calendar. */
function dueAfter(paidMs: number, cadenceDays: number, n: number): number {
	const months = calendarMonthsOf(cadenceDays);
	if (months === undefined) return paidMs + n * cadenceDays * dayMs;
	const date = new Date(paidMs);
	const day = date.getUTCDate();
	date.setUTCDate(1);
	date.setUTCMonth(date.getUTCMonth() + n * months);
	const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
	date.setUTCDate(Math.min(day, lastDay));
	return date.getTime();
}

/**
 * What present subscriptions will pay in the next days: after each due day the price, if they renew this time and each time before,
 * and as late as others did. Who has not renewed yet after so many days, or was paid back, renews as often as others who had not, or
 * were.
 * @param days how many
 * @param z of the bounds
 */
export function projectionOf(
	journeys: readonly PaidJourney[],
	renewals: Renewals,
	asOfMs: number,
	{ days = 365, z = zOf['95 %'] }: { readonly days?: number; readonly z?: number } = {},
): Projection {
	const rates = renewals.rates(z);
	const endMs = asOfMs + days * dayMs;
	const plans = new Map<string, { pence: number; low: number; high: number }>();
	let [most, variance] = [0, 0];
	for (const journey of journeys) {
		const { cadence, lapsesAtMs, isPaidOnce } = journey.course;
		const last = journey.payments.at(-1) as Payment;
		if (isPaidOnce || (lapsesAtMs !== null && lapsesAtMs <= asOfMs)) continue;
		const plan = planOf(journey);
		const cadenceDays = cadence?.days ?? renewals.assumedDays(plan);
		if (cadenceDays === null || last.pricePence === 0) continue;
		const timely: number[] = [];
		for (let time = 1; ; time++) {
			const share = renewals.cameUntil(plan, endMs - dueAfter(last.atMs, cadenceDays, time));
			if (share === 0) break;
			timely.push(share);
		}
		if (timely.length === 0) continue;
		const early = renewals.cameUntil(plan, asOfMs - dueAfter(last.atMs, cadenceDays, 1));
		const [first, next] = [rates(plan, last.refundedAtMs === null ? 'kept' : 'refunded'), rates(plan, 'all')];
		const price = last.pricePence;
		const sums = plans.getOrInsertComputed(plan, () => ({ pence: 0, low: 0, high: 0 }));
		const [expected, squared] = renewalsIn(timely, { early, first: first.share, next: next.share });
		sums.pence += price * expected;
		sums.low += price * renewalsIn(timely, { early, first: first.low, next: next.low })[0];
		sums.high += price * renewalsIn(timely, { early, first: first.high, next: next.high })[0];
		most += price * timely.length;
		variance += price ** 2 * (squared - expected ** 2);
	}
	const sums = [...plans.values()];
	const pence = sums.reduce((sum, plan) => sum + plan.pence, 0);
	const chance = z * Math.sqrt(Math.max(0, variance));
	const below = Math.hypot(chance, ...sums.map((plan) => plan.pence - plan.low));
	const above = Math.hypot(chance, ...sums.map((plan) => plan.high - plan.pence));
	return {
		pence: Math.round(pence),
		lowPence: Math.round(Math.max(0, pence - below)),
		highPence: Math.round(Math.min(most, pence + above)),
	};
}

/**
 * The expected number of renewals of one that has not renewed yet, and its expected square. Nothing comes after one that does not.
 * @param timely of each renewal, if it comes, the chance that it comes in time
 * @param early the share of first renewals that would have come by now
 */
function renewalsIn(
	timely: readonly number[],
	{ early, first, next }: { readonly early: number; readonly first: number; readonly next: number },
): readonly [mean: number, square: number] {
	const left = 1 - first * early;
	// The share of those who will renew among those who have not yet.
	let chance = left > 0 ? (first * (1 - early)) / left : 0;
	let [mean, square] = [0, 0];
	for (const [place, share] of timely.entries()) {
		const inTime = place > 0 ? share : early < 1 ? Math.max(0, share - early) / (1 - early) : 0;
		mean += chance * inTime;
		square += (2 * place + 1) * chance * inTime;
		chance *= next;
	}
	return [mean, square];
}
