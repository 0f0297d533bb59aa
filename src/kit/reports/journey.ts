import type { Subscription, SubscriptionStep } from '../../core/domain/subscription-steps.ts';
import type { Touch } from '../../core/domain/touch.ts';
import { countBelow } from '../../core/scoring/rows/count-below.ts';
import { type Calendar, monthsBetween, partOf, type Span, type SpanLength } from './calendar.ts';
import type { Grouping } from './label.ts';

/** A subscription with the touches that led to it. */
export interface Journey {
	readonly subscription: Subscription;
	/** Empty if nothing is known about how it came about. */
	readonly path: readonly Touch[];
}

/** From a moment, inclusive, to a moment, exclusive. */
export interface Period {
	readonly fromMs: number;
	readonly toMs: number;
}

/** What reports are made by. Each uses some. */
export interface Terms {
	/** One or two dimensions of touches, or none for one row. */
	readonly by: Grouping;
	/** What a report counts happened, or was acquired, in it. */
	readonly period: Period;
	readonly basis: Basis;
	readonly asOfMs: number;
	/** Of days and months. */
	readonly calendar: Calendar;
	readonly halfLifeDays: number;
}

/** `event`: counts what happened in the period. `cohort`: counts all events of subscriptions and trials that started in it. */
export type Basis = 'event' | 'cohort';

export const allTime: Period = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

export function isIn({ fromMs, toMs }: Period, ms: number): boolean {
	return ms >= fromMs && ms < toMs;
}

/** When a subscription or its trial started, which decides its cohort. Of one without either, its first event. */
export function startedAtMs({ start, steps }: Subscription): number {
	return (start ?? (steps[0] as SubscriptionStep)).atMs;
}

/** The events of a subscription that count in a report. */
export function countedSteps(
	subscription: Subscription,
	period: Period,
	basis: Basis,
): readonly SubscriptionStep[] {
	if (basis === 'cohort') return isIn(period, startedAtMs(subscription)) ? subscription.steps : [];
	return subscription.steps.filter(({ atMs }) => isIn(period, atMs));
}

/** The moment of the first event of all. */
export function firstEventMs(journeys: readonly Pick<Journey, 'subscription'>[]): number {
	let firstMs = Number.POSITIVE_INFINITY;
	for (const { subscription } of journeys)
		firstMs = Math.min(firstMs, subscription.steps[0]?.atMs ?? firstMs);
	return firstMs;
}

/** The spans of a period, cut where it begins and ends. @param firstMs when the first thing that is counted was */
export function spansOf(
	firstMs: number,
	length: SpanLength,
	{ period, calendar, asOfMs }: Pick<Terms, 'period' | 'calendar' | 'asOfMs'>,
): Span[] {
	const fromMs = Math.max(firstMs, period.fromMs);
	const lastMs = Math.min(asOfMs, period.toMs - 1);
	// A period that has not begun has no spans, although its first month may have.
	if (!Number.isFinite(fromMs) || fromMs > lastMs) return [];
	return calendar.spans(length, fromMs, lastMs).map((span) => ({
		...span,
		fromMs: Math.max(span.fromMs, period.fromMs),
		toMs: Math.min(span.toMs, period.toMs),
		part: partOf(span, period, calendar, asOfMs),
	}));
}

/** Which of some spans that follow each other a moment lies in: -1 before the first, as many as there are after the last. */
export function placeOf(spans: readonly Period[], ms: number): number {
	const place = countBelow(spans, ({ toMs }) => toMs <= ms);
	return place === 0 && ms < (spans[0]?.fromMs ?? Number.POSITIVE_INFINITY) ? -1 : place;
}

export const amountNames = [
	'trials',
	'subscriptions',
	'acquisitionPence',
	'renewalPence',
	'refundPence',
] as const;
/** The totals of subscriptions. `trials` are those that started, and `subscriptions` is the number of first payments. */
export type Amounts = Readonly<Record<(typeof amountNames)[number], number>>;

export interface Totals extends Amounts {
	readonly netPence: number;
}

export const noAmounts: Amounts = {
	trials: 0,
	subscriptions: 0,
	acquisitionPence: 0,
	renewalPence: 0,
	refundPence: 0,
};

export function amountsOf(steps: readonly SubscriptionStep[]): Amounts {
	const amounts = { ...noAmounts };
	for (const { kind, revenuePence } of steps)
		if (kind === 'trial') amounts.trials++;
		else if (kind !== 'cancellation') {
			amounts[`${kind}Pence`] += revenuePence;
			if (kind === 'acquisition') amounts.subscriptions++;
		}
	return amounts;
}

export function netPence({
	acquisitionPence,
	renewalPence,
	refundPence,
}: Pick<Amounts, 'acquisitionPence' | 'renewalPence' | 'refundPence'>): number {
	return acquisitionPence + renewalPence + refundPence;
}

/** The journeys with events that count in a report, and what these add up to. */
export function countedJourneys(
	journeys: readonly Journey[],
	period: Period,
	basis: Basis,
): (Journey & { readonly amounts: Amounts })[] {
	return journeys.flatMap(({ subscription, path }) => {
		const steps = countedSteps(subscription, period, basis);
		return steps.length > 0 ? [{ subscription, path, amounts: amountsOf(steps) }] : [];
	});
}

export function totalOf(counted: readonly { readonly amounts: Amounts }[]): Totals {
	const totals = { ...noAmounts };
	for (const { amounts } of counted) for (const name of amountNames) totals[name] += amounts[name];
	return { ...totals, netPence: netPence(totals) };
}

/** Subscriptions and trials that started in a period. */
export function startedIn<Some extends Journey>(journeys: readonly Some[], period: Period): Some[] {
	return journeys.filter(({ subscription: { start } }) => start && isIn(period, start.atMs));
}

/** Subscriptions whose first payment was in a period. */
export function acquiredIn<Some extends Journey>(journeys: readonly Some[], period: Period): Some[] {
	return journeys.filter(
		({ subscription: { acquisition } }) => acquisition && isIn(period, acquisition.atMs),
	);
}

/** A rounded ratio; null if the denominator is 0. */
export function ratio(part: number, whole: number, digits = 4): number | null {
	return whole === 0 ? null : rounded(part / whole, digits);
}

export function rounded(value: number, digits: number): number {
	return Math.round(value * 10 ** digits) / 10 ** digits;
}

/** What a month's cohort paid in each calendar month after its acquisition, less refunds, from 0. */
export function penceByAge(
	month: string,
	members: readonly Pick<Journey, 'subscription'>[],
	calendar: Calendar,
): number[] {
	const pence: number[] = [];
	for (const { subscription } of members)
		for (const { atMs, revenuePence } of subscription.steps) {
			// A refund that was uploaded before its sale counts from the first month.
			const age = Math.max(0, monthsBetween(month, calendar.monthOf(atMs)));
			while (pence.length <= age) pence.push(0);
			(pence[age] as number) += revenuePence;
		}
	return pence;
}
