import { dayMs, hourMs } from '../durations.ts';
import {
	type Cadence,
	type Cadences,
	calendarMonthsOf,
	dueAfter,
	monthDays,
	type Payment,
	tellingDays,
} from './subscription-cadence.ts';
import type { Subscription } from './subscription-steps.ts';

/**
 * `trial` has not begun: nothing was paid but the price of a trial; `trial ended` was not paid in time after that. `active` is paid
 * for. `cancelled` is paid for, and will end when it is due. `at risk` is due, and may still be renewed. `ended` was not renewed in
 * time, was cancelled, or was paid back. `reactivated` is active, and had ended before.
 */
export const subscriptionStates = [
	'trial',
	'trial ended',
	'active',
	'cancelled',
	'at risk',
	'ended',
	'reactivated',
] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];

/** A change of a subscription's recurring revenue. */
export interface Movement {
	readonly kind: 'new' | 'reactivated' | 'expansion' | 'contraction' | 'ended';
	readonly atMs: number;
	/** Per month from then on. */
	readonly recurringPence: number;
	/** Of an end: whether somebody wanted it, and cancelled or was paid back. */
	readonly isByWill?: boolean;
}

/** How a subscription has gone up to a moment. */
export interface Course {
	/** By time. The first is `new`. Each differs from the one before in its recurring revenue, or begins or ends it. */
	readonly movements: readonly Movement[];
	readonly state: SubscriptionState;
	/** Of the last payment. Null if nothing is known about it: then it is active for ever. */
	readonly cadence: Cadence | null;
	/** Whether it is paid once, as the operator has said. Then it has no cadence. */
	readonly isPaidOnce: boolean;
	/** Whether the cadence is that of others, of whom nobody has its `evt`. */
	readonly isBorrowed: boolean;
	/** How late its renewal may come. */
	readonly graceDays: number;
	readonly dueAtMs: number | null;
	/** Until when a renewal is in time, or would have been. */
	readonly lapsesAtMs: number | null;
	readonly endedAtMs: number | null;
	/** Whether somebody wanted that; null if it has not ended. */
	readonly hasEndedByWill: boolean | null;
	/** When it was cancelled; null if it was not, or was paid again since. */
	readonly cancelledAtMs: number | null;
	/** Per month, in whole pence; 0 if it has ended, or its cadence is unknown. */
	readonly recurringPence: number;
	/** Of each payment, whether another one came; null while there is time for it. The number of payments is its length. */
	readonly renewed: readonly (boolean | null)[];
	/** When payments came that were past due by more than a day, and still in time. */
	readonly recoveredAtMs: readonly number[];
}

/** Payments closer together are one: a sale may have several transactions. */
export const sameOccasionMs = 12 * hourMs;
/** What somebody who pays a price every so many days pays in a month, in whole pence. */
export function recurringPenceOf(pricePence: number, cadenceDays: number): number {
	return Math.round(pricePence / (calendarMonthsOf(cadenceDays) ?? cadenceDays / monthDays));
}

/**
 * The payments among the events of a subscription. A cancellation is of the latest payment before it. A refund takes from the
 * latest payments before it. One that was dated before anything was paid takes from what is paid next: whatever came first, it pays
 * back this subscription.
 */
export function paymentsOf({ steps }: Pick<Subscription, 'steps'>): readonly Payment[] {
	const payments: RunningPayment[] = [];
	const refundable: RunningPayment[] = [];
	/** Of refunds that were dated before anything was paid. */
	let owedPence = 0;
	let isAnythingPaid = false;
	/** @returns what is left to pay back */
	const payBack = (pence: number, atMs: number): number => {
		let left = pence;
		while (left > 0) {
			const payment = refundable.at(-1);
			if (!payment) break;
			// Who was charged twice at one time has paid once.
			const twice = payment.lines.indexOf(left);
			if (left < payment.leftPence && twice >= 0 && payment.lines.indexOf(left, twice + 1) >= 0) {
				payment.lines.splice(twice, 1);
				payment.pricePence -= left;
				payment.leftPence -= left;
				return 0;
			}
			const part = Math.min(left, payment.leftPence);
			left -= part;
			payment.leftPence -= part;
			if (payment.leftPence > 0) {
				payment.partRefund = { atMs, pence: payment.pricePence - payment.leftPence };
				break;
			}
			// Free ones are not paid back.
			if (part > 0) payment.refundedAtMs = atMs;
			refundable.pop();
		}
		return left;
	};
	for (const { kind, atMs, revenuePence } of steps) {
		const last = payments.at(-1);
		if (kind === 'refund') {
			const left = payBack(-revenuePence, atMs);
			if (!isAnythingPaid) owedPence += left;
			continue;
		}
		if (kind === 'cancellation') {
			if (last) last.cancelledAtMs ??= atMs;
			continue;
		}
		if (last && atMs - last.atMs < sameOccasionMs && last.refundedAtMs === null) {
			// Who pays again takes a cancellation back.
			delete last.cancelledAtMs;
			last.pricePence += revenuePence;
			last.leftPence += revenuePence;
			last.lines.push(revenuePence);
			// A refund has passed it while it was free.
			if (refundable.at(-1) !== last) refundable.push(last);
		} else {
			const payment: RunningPayment = {
				atMs,
				pricePence: revenuePence,
				leftPence: revenuePence,
				lines: [revenuePence],
				refundedAtMs: null,
			};
			payments.push(payment);
			refundable.push(payment);
		}
		isAnythingPaid ||= revenuePence > 0;
		if (owedPence > 0 && revenuePence > 0) owedPence = payBack(owedPence, atMs);
	}
	return withoutProrations(payments);
}

/**
 * Who changes to a dearer plan within the time of a payment is charged the difference for what is left of it, and pays the new
 * price from the next time on. That charge is no payment of its own.
 */
function withoutProrations(payments: readonly RunningPayment[]): readonly Payment[] {
	const kept: RunningPayment[] = [];
	for (const [place, charge] of payments.entries()) {
		const [before, next] = [kept.at(-1), payments[place + 1]];
		if (before && next && charge.refundedAtMs === null && isProration(before, charge, next)) {
			before.raised = { atMs: charge.atMs, pricePence: next.pricePence };
			// It was a payment all the same: a cancellation before it is taken back.
			delete before.cancelledAtMs;
			if (charge.cancelledAtMs !== undefined) before.cancelledAtMs = charge.cancelledAtMs;
		} else kept.push(charge);
	}
	return kept;
}

function isProration(before: RunningPayment, charge: RunningPayment, next: RunningPayment): boolean {
	const difference = next.pricePence - before.pricePence;
	if (before.pricePence === 0 || difference <= 0 || before.raised || before.refundedAtMs !== null)
		return false;
	const left = (next.atMs - charge.atMs) / (next.atMs - before.atMs);
	return (
		charge.pricePence > 0 && Math.abs(charge.pricePence - left * difference) <= nearProration * difference
	);
}

/** How near a charge must be to the difference for the time that is left, as a share of the difference. */
const nearProration = 0.04;

interface RunningPayment {
	readonly atMs: number;
	/** What was paid at one time, one by one. */
	readonly lines: number[];
	pricePence: number;
	leftPence: number;
	refundedAtMs: number | null;
	partRefund?: { readonly atMs: number; readonly pence: number };
	raised?: { readonly atMs: number; readonly pricePence: number };
	cancelledAtMs?: number;
}

/** When a payment is over, and until when the next one is in time. */
interface Cover {
	readonly dueAtMs: number;
	readonly lapsesAtMs: number;
	/** Whether somebody wanted that it is over then. */
	readonly isByWill: boolean;
}

/** What is paid a day later than due is no news: months have 28 to 31 days. */
const recoveredAfterMs = dayMs;

/** What is cancelled is used up, and over when it is due. Who had ended before has not cancelled. */
function cancelled(cover: Cover, payment: Payment | undefined): Cover {
	const cancelledAtMs = payment?.cancelledAtMs;
	if (cancelledAtMs === undefined || cancelledAtMs > cover.lapsesAtMs) return cover;
	return { ...cover, lapsesAtMs: cover.dueAtMs, isByWill: true };
}

const endless: Cover = {
	dueAtMs: Number.POSITIVE_INFINITY,
	lapsesAtMs: Number.POSITIVE_INFINITY,
	isByWill: false,
};

/** The payment from which on something was due each time, and how many times have been paid since. */
interface BillingDay {
	readonly fromMs: number;
	readonly days: number;
	readonly times: number;
}

/**
 * @param before the cover until then, with its billing day. It goes on where others keep theirs, if the payment came for the time
 * that was due and did not move it.
 */
export function coverOf(
	{ atMs }: Payment,
	{ evt, cadence, cadences }: { evt: string; cadence: Cadence | null; cadences: Cadences },
	before: { readonly cover: Cover; readonly day: BillingDay | null },
): { readonly cover: Cover; readonly day: BillingDay | null } {
	if (!cadence) return { cover: endless, day: null };
	const { days } = cadence;
	const { isOfCalendar, keepsDay } = cadences.billing(evt, cadence);
	const { dueAtMs: beforeMs, lapsesAtMs: untilMs } = before.cover;
	const isNext = before.day?.days === days && atMs <= untilMs && atMs >= beforeMs - (days / 2) * dayMs;
	const isMoved = !isOfCalendar && Math.abs(atMs - beforeMs) <= tellingDays * dayMs;
	const day =
		keepsDay && before.day && isNext && !isMoved
			? { ...before.day, times: before.day.times + 1 }
			: { fromMs: atMs, days, times: 1 };
	const dueAtMs = dueAfter(day.fromMs, days, day.times, isOfCalendar);
	return {
		cover: {
			dueAtMs,
			lapsesAtMs: Math.round(dueAtMs + cadences.graceDays(evt, cadence) * dayMs),
			isByWill: false,
		},
		day,
	};
}

export const noCover: Cover = {
	dueAtMs: Number.NEGATIVE_INFINITY,
	lapsesAtMs: Number.NEGATIVE_INFINITY,
	isByWill: false,
};

/**
 * How a subscription has gone.
 * @param payments at least one, all up to the moment
 */
export function courseOf(
	{ evt, payments }: { readonly evt: string; readonly payments: readonly Payment[] },
	cadences: Cadences,
	asOfMs: number,
): Course {
	const of = cadences.of({ evt, payments }, asOfMs);
	const movements: Movement[] = [];
	const renewed: (boolean | null)[] = [];
	const recoveredAtMs: number[] = [];
	let billed: ReturnType<typeof coverOf> = { cover: noCover, day: null };
	let recurringPence = 0;
	let runs = 0;
	/** Of all payments so far, whatever was paid back. */
	let paid = noCover;
	/** Of payments until they were paid back. */
	let kept = paid;
	const move = (kind: Movement['kind'], atMs: number, pence: number) => {
		movements.push({ kind, atMs, recurringPence: pence });
		recurringPence = pence;
	};
	const end = ({ dueAtMs: atMs, isByWill }: Cover) => {
		movements.push({ kind: 'ended', atMs, recurringPence: 0, isByWill });
		recurringPence = 0;
	};
	for (const [place, payment] of payments.entries()) {
		const cadence = of[place] ?? null;
		const pence = cadence ? recurringPenceOf(payment.pricePence, cadence.days) : 0;
		const { atMs, refundedAtMs } = payment;
		const { dueAtMs, lapsesAtMs } = cancelled(paid, payments[place - 1]);
		// Who pays again in time has not ended, even if the last payment was paid back.
		if (place > 0 && atMs > lapsesAtMs) end(cancelled(kept, payments[place - 1]));
		if (place === 0 || atMs > lapsesAtMs) move(runs++ === 0 ? 'new' : 'reactivated', atMs, pence);
		else if (pence !== recurringPence)
			move(pence > recurringPence ? 'expansion' : 'contraction', atMs, pence);
		if (place > 0 && atMs <= lapsesAtMs && atMs > dueAtMs + recoveredAfterMs) recoveredAtMs.push(atMs);
		billed = coverOf(payment, { evt, cadence, cadences }, billed);
		const { cover } = billed;
		paid = later(paid, cover);
		const isCut = refundedAtMs !== null && refundedAtMs < cover.dueAtMs;
		kept = later(kept, isCut ? { dueAtMs: refundedAtMs, lapsesAtMs: refundedAtMs, isByWill: true } : cover);
		const { raised } = payment;
		const raisedPence = raised && cadence ? recurringPenceOf(raised.pricePence, cadence.days) : 0;
		if (raised && raised.atMs < cover.dueAtMs && raisedPence > recurringPence)
			move('expansion', raised.atMs, raisedPence);
		renewed.push(cover.lapsesAtMs <= asOfMs ? place + 1 < payments.length : null);
	}
	const lastPayment = payments.at(-1);
	const left = cancelled(kept, lastPayment);
	const hasEnded = left.lapsesAtMs <= asOfMs;
	if (hasEnded) end(left);
	const { dueAtMs, lapsesAtMs } = hasEnded ? cancelled(paid, lastPayment) : left;
	const cancelledAtMs = left === kept ? null : (lastPayment?.cancelledAtMs ?? null);
	const active = cancelledAtMs !== null ? 'cancelled' : runs > 1 ? 'reactivated' : 'active';
	const last = of.at(-1) ?? null;
	return {
		movements,
		state: hasEnded ? 'ended' : dueAtMs <= asOfMs ? 'at risk' : active,
		cadence: last,
		isPaidOnce: cadences.isPaidOnce(evt),
		isBorrowed: last !== null && cadences.isBorrowed(evt, last),
		graceDays: last ? cadences.graceDays(evt, last) : 0,
		dueAtMs: Number.isFinite(dueAtMs) ? dueAtMs : null,
		lapsesAtMs: Number.isFinite(lapsesAtMs) ? lapsesAtMs : null,
		endedAtMs: hasEnded ? left.dueAtMs : null,
		hasEndedByWill: hasEnded ? left.isByWill : null,
		cancelledAtMs,
		recurringPence,
		renewed,
		recoveredAtMs,
	};
}

function later(a: Cover, b: Cover): Cover {
	return b.dueAtMs >= a.dueAtMs ? b : a;
}
