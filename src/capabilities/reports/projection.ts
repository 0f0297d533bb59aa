import { dueAfter, graceDays, monthDays, type Payment } from '../../core/domain/subscription-cadence.ts';
import { dayMs } from '../../core/durations.ts';
import { countBelow } from '../../core/scoring/rows/count-below.ts';
import { type PaidJourney, planOf } from '../../kit/reports/courses.ts';
import { type ShareWithBounds, withBounds } from '../../kit/reports/share-interval.ts';

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
/** The share assumed of subscriptions that nobody has renewed after more than a month: they may be no subscriptions. */
const doubtfulShare = 0.4;
/** All plans together count as so many of a plan's dues that are as late; and a half as one of all these. */
const assumedLate = 10;
/** So many in a row who pay another price than before tell that it has changed. */
const alikePrices = 5;
/** What plans are mostly sold for. */
const soldDays = [1, 3, 6, 12, 24].map((months) => months * monthDays);

interface Dues {
	due: number;
	renewed: number;
	/** How long after they were due renewals came, or before. From the earliest. */
	readonly lateMs: number[];
	/** How long after they were due renewals came or were cancelled, whichever was first: of those renewed, and of the others. */
	readonly decidedMs: { readonly renewed: number[]; readonly lost: number[] };
}

interface PlanDues {
	/** Of payments that were not paid back, and of those that were. */
	readonly kept: Dues;
	readonly refunded: Dues;
	/** Since the last payment of those whose cadence is unknown, the longest time. */
	silentDays: number;
	/** By price, what those who had paid it paid the next time. The latest ones. */
	readonly paidNext: Map<number, Payment[]>;
}

const noDues: Dues = { due: 0, renewed: 0, lateMs: [], decidedMs: { renewed: [], lost: [] } };
const noPlan: PlanDues = {
	kept: noDues,
	refunded: structuredClone(noDues),
	silentDays: 0,
	paidNext: new Map(),
};

/** What is known of renewals, by plan: whatever is told of those to come is told from it. */
export class Renewals {
	readonly #plans = new Map<string, PlanDues>();
	readonly #asOfMs: number;

	constructor(journeys: readonly PaidJourney[], asOfMs: number) {
		this.#asOfMs = asOfMs;
		for (const journey of journeys) {
			const { course, payments } = journey;
			const plan = this.#plans.getOrInsertComputed(planOf(journey), () => structuredClone(noPlan));
			// Also those after one that is not over, such as an annual payment before monthly ones.
			for (const [place, isRenewed] of course.renewed.entries()) {
				if (isRenewed === null) continue;
				const [paid, next] = [payments[place] as Payment, payments[place + 1]];
				const dues = plan[groupOf(paid)];
				const dueMs = course.cadence && nthDue(paid.atMs, course.cadence.days, 1);
				const lateMsOf = (atMs: number) => (dueMs === null ? 0 : atMs - dueMs);
				const cancelledMs = paid.cancelledAtMs === undefined ? [] : [lateMsOf(paid.cancelledAtMs)];
				dues.due++;
				if (!isRenewed || !next) {
					dues.decidedMs.lost.push(...cancelledMs);
					continue;
				}
				const lateMs = lateMsOf(next.atMs);
				dues.renewed++;
				dues.lateMs.push(lateMs);
				dues.decidedMs.renewed.push(Math.min(lateMs, ...cancelledMs));
			}
			for (const [place, { pricePence }] of payments.entries()) {
				const next = payments[place + 1];
				if (next) plan.paidNext.getOrInsertComputed(pricePence, () => []).push(next);
			}
			if (course.cadence === null)
				plan.silentDays = Math.max(plan.silentDays, (asOfMs - (payments.at(-1) as Payment).atMs) / dayMs);
		}
		for (const { kept, refunded, paidNext } of this.#plans.values()) {
			for (const { lateMs, decidedMs } of [kept, refunded])
				for (const all of [lateMs, decidedMs.renewed, decidedMs.lost]) all.sort((a, b) => a - b);
			for (const paid of paidNext.values())
				paid.sort((a, b) => b.atMs - a.atMs || b.pricePence - a.pricePence).splice(alikePrices);
		}
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

	/** The share of a plan's dues that are renewed. @param z how many standard deviations the bounds are apart from the middle */
	rate(plan: string, z: number): ShareWithBounds {
		const { kept, refunded } = this.#of(plan);
		const all = { due: kept.due + refunded.due, renewed: kept.renewed + refunded.renewed };
		return this.#share(plan, all, z);
	}

	/**
	 * How likely one is renewed that has not been yet, nor cancelled: of the dues of its plan that had been neither as late, or as long
	 * before, the share that was. Those whose last payment was paid back are compared with such ones.
	 */
	chanceOf(journey: PaidJourney, z: number = zOf['95 %']): ShareWithBounds {
		const plan = planOf(journey);
		const paid = journey.payments.at(-1) as Payment;
		const days = journey.course.cadence?.days ?? this.assumedDays(plan);
		const lateMs = days === null ? 0 : this.#asOfMs - nthDue(paid.atMs, days, 1);
		const own = asLate(this.#of(plan)[groupOf(paid)], lateMs);
		if (lateMs <= 0) return this.#share(plan, own, z);
		let [due, renewed] = [1, 0.5];
		for (const each of this.#plans.values()) {
			const late = asLate(each[groupOf(paid)], lateMs);
			due += late.due;
			renewed += late.renewed;
		}
		return this.#share(plan, own, z, [assumedLate, renewed / due]);
	}

	/** What is paid the next time after a price: another one, if the latest who had paid it all paid that. */
	nextPence(plan: string, pricePence: number): number {
		const [latest, ...others] = this.#of(plan).paidNext.get(pricePence) ?? [];
		const isChanged =
			others.length + 1 === alikePrices && others.every((each) => each.pricePence === latest?.pricePence);
		return isChanged && latest ? latest.pricePence : pricePence;
	}

	/** The share of a plan's renewals that came until so long after they were due. */
	cameUntil(plan: string, lateMs: number): number {
		const { kept, refunded } = this.#of(plan);
		const all = kept.renewed + refunded.renewed;
		if (all === 0) return lateMs >= 0 ? 1 : 0;
		return (countUntil(kept.lateMs, lateMs) + countUntil(refunded.lateMs, lateMs)) / all;
	}

	#of(plan: string): PlanDues {
		return this.#plans.get(plan) ?? noPlan;
	}

	/** @param assumed how many count as having been due besides, and which share of them as renewed */
	#share(
		plan: string,
		{ due, renewed }: Pick<Dues, 'due' | 'renewed'>,
		z: number,
		assumed?: readonly [dues: number, share: number],
	): ShareWithBounds {
		const { kept, silentDays } = this.#of(plan);
		const isDoubtful = kept.due === 0 && silentDays >= monthDays + graceDays(monthDays);
		const [dues, share] = assumed ?? [assumedDues, isDoubtful ? doubtfulShare : assumedShare];
		const middle = (renewed + share * dues) / (due + dues);
		if (kept.due === 0 || due === 0) return { share: middle, low: 0, high: 1 };
		const { low, high } = withBounds(renewed / due, due, z);
		return { share: middle, low: Math.min(low, middle), high: Math.max(high, middle) };
	}
}

function groupOf({ refundedAtMs }: Payment): 'kept' | 'refunded' {
	return refundedAtMs === null ? 'kept' : 'refunded';
}

function countUntil(sortedMs: readonly number[], untilMs: number): number {
	return countBelow(sortedMs, (ms) => ms <= untilMs);
}

/** Those of some dues that had not been renewed so long after they were due, or before, nor cancelled. */
function asLate({ due, renewed, decidedMs }: Dues, afterMs: number): Pick<Dues, 'due' | 'renewed'> {
	const open = renewed - countUntil(decidedMs.renewed, afterMs);
	return { due: open + due - renewed - countUntil(decidedMs.lost, afterMs), renewed: open };
}

/** When the n-th payment after one is due. Months are those of the calendar. */
function nthDue(paidMs: number, cadenceDays: number, n: number): number {
	return dueAfter(paidMs, cadenceDays, n, true);
}

/**
 * What present subscriptions will pay in the next days: after each due day the price, if they renew this time and each time before,
 * and as late as others did. Who has not renewed yet after so many days, or was paid back, renews as often as others who had not, or
 * were. Nothing is expected of who has cancelled.
 * @param days how many
 * @param z of the bounds
 */
export function projectionOf(
	journeys: readonly PaidJourney[],
	renewals: Renewals,
	asOfMs: number,
	{ days = 365, z = zOf['95 %'] }: { readonly days?: number; readonly z?: number } = {},
): Projection {
	const endMs = asOfMs + days * dayMs;
	const plans = new Map<string, { next: ShareWithBounds; pence: number; low: number; high: number }>();
	let [most, variance] = [0, 0];
	for (const journey of journeys) {
		const { cadence, lapsesAtMs, isPaidOnce, cancelledAtMs } = journey.course;
		const last = journey.payments.at(-1) as Payment;
		if (isPaidOnce || cancelledAtMs !== null || (lapsesAtMs !== null && lapsesAtMs <= asOfMs)) continue;
		const plan = planOf(journey);
		const cadenceDays = cadence?.days ?? renewals.assumedDays(plan);
		if (cadenceDays === null || last.pricePence === 0) continue;
		const lateMs = asOfMs - nthDue(last.atMs, cadenceDays, 1);
		const early = renewals.cameUntil(plan, lateMs);
		// Whose last payment was late is due earlier each time; who has not paid so early is none of these.
		const ahead = renewals.cameUntil(plan, Math.min(lateMs, -dayMs));
		const timely: number[] = [];
		for (let time = 1; ; time++) {
			const share = renewals.cameUntil(plan, endMs - nthDue(last.atMs, cadenceDays, time));
			if (share === 0) break;
			const before = time === 1 ? early : ahead;
			timely.push(before < 1 ? Math.max(0, share - before) / (1 - before) : 0);
		}
		if (timely.length === 0) continue;
		const sums = plans.getOrInsertComputed(plan, () => ({
			next: renewals.rate(plan, z),
			pence: 0,
			low: 0,
			high: 0,
		}));
		const first = renewals.chanceOf(journey, z);
		const price = renewals.nextPence(plan, last.pricePence);
		const [expected, squared] = renewalsIn(timely, first.share, sums.next.share);
		sums.pence += price * expected;
		sums.low += price * renewalsIn(timely, first.low, sums.next.low)[0];
		sums.high += price * renewalsIn(timely, first.high, sums.next.high)[0];
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
 * The expected number of renewals of one, and its expected square. Nothing comes after one that does not.
 * @param timely of each renewal, if it comes, the chance that it comes in time
 * @param first how likely the first one is
 * @param next how likely each is after the one before
 */
function renewalsIn(
	timely: readonly number[],
	first: number,
	next: number,
): readonly [mean: number, square: number] {
	let chance = first;
	let [mean, square] = [0, 0];
	for (const [place, share] of timely.entries()) {
		mean += chance * share;
		square += (2 * place + 1) * chance * share;
		chance *= next;
	}
	return [mean, square];
}
