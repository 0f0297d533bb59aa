import { dayMs } from '../durations.ts';
import type { CancellationEvt } from './event-kind.ts';

/**
 * How often subscriptions are paid. Nobody says so: it is learned from the times between payments. Some come early or late,
 * some are missing or paused, and plans of several lengths may share one `evt`.
 */

/** What was paid at one time. */
export interface Payment {
	readonly atMs: number;
	readonly pricePence: number;
	/** When all of it had been paid back; null if it was not. */
	readonly refundedAtMs: number | null;
	/** When a part had been paid back, and how much in all. */
	readonly partRefund?: { readonly atMs: number; readonly pence: number };
	/** When, within its time, the plan was changed to a dearer one, and to which price. */
	readonly raised?: { readonly atMs: number; readonly pricePence: number };
	/** When it was said that no payment is to follow, and none has. */
	readonly cancelledAtMs?: number;
}

/** A subscription as far as cadences are concerned. */
export interface Paid {
	/** Of its acquisition. */
	readonly evt: string;
	/** By time. */
	readonly payments: readonly Payment[];
}

/**
 * What a cadence was found by: the subscription's own payments, those of others with the same `evt` and price, of others with
 * the same `evt`, or the account: what the operator has set, else all its subscriptions.
 */
type CadenceSource = 'own' | 'price' | 'event' | 'account';

export interface Cadence {
	readonly days: number;
	readonly from: CadenceSource;
	/** Whether others pay the same price at other intervals, and nothing tells which of them it is. */
	readonly isUnclear?: boolean;
}

/** Two intervals count as one cadence if the longer is at most this multiple of the shorter: 21 and 30 days, but not 30 and 45. */
export const sameCadence = 1.45;
/** With payments missing, a time is a multiple of the cadence, but for this part of it. */
export const multipleTolerance = 0.25;
const maxMultiple = 12;
/** A price so many times as high or low is that of another plan, and not a rise. */
export const otherPlan = 1.8;
/** What was paid longer ago than so many payments does not count. Bounds the time, too. */
const maxGaps = 24;
/** So many alike times between a subscription's own payments tell more than those of others at its price. */
const exactGaps = 20;
/** A cadence of others explains a subscription's own times nearly as well as the best one, if it explains this share of it. */
const nearlyAsMany = 0.5;
/** How near the mean of times must be to a cadence, as a share of it. */
const nearAverage = 0.1;
export const maxGraceDays = 30;

/** Payments are those of weeks if they are so near, and so large a share of them. */
const nearWeeksDays = 0.25;
const minExact = 0.75;
/** A payment is late or early by so many days, so that it tells whether the billing day is kept. */
export const tellingDays = 1.5;

export const monthDays = 365.25 / 12;
/** Of plans. Cadences within a tenth of so many months are that: months have 28 to 31 days. */
const calendarMonths = [1, 2, 3, 4, 6, 12, 24];
/** Plans of four weeks, sold as such, bring thirteen payments a year instead of twelve. */
export const fourWeeksDays = [28, 56, 84];

/** The whole months of a cadence; undefined if it is none of the usual ones. */
export function calendarMonthsOf(cadenceDays: number): number | undefined {
	if (fourWeeksDays.some((days) => Math.abs(cadenceDays - days) < 0.5)) return undefined;
	return calendarMonths.find((months) => Math.abs(cadenceDays / (months * monthDays) - 1) <= 0.1);
}

/** When the time of a payment, or so many times of it, is over. @param isOfCalendar whether it is due on the same day of the month, in UTC */
export function dueAfter(paidMs: number, cadenceDays: number, times = 1, isOfCalendar = false): number {
	const months = isOfCalendar ? calendarMonthsOf(cadenceDays) : undefined;
	if (months === undefined) return Math.round(paidMs + times * cadenceDays * dayMs);
	// Reports ask this for each payment of many subscriptions: dates as objects would take most of their time.
	let month = Math.floor(paidMs / (monthDays * dayMs));
	while (startOfMonth(month + 1) <= paidMs) month++;
	while (startOfMonth(month) > paidMs) month--;
	const sinceMs = paidMs - startOfMonth(month);
	const firstMs = startOfMonth(month + times * months);
	const lastDay = (startOfMonth(month + times * months + 1) - firstMs) / dayMs - 1;
	return firstMs + Math.min(Math.floor(sinceMs / dayMs), lastDay) * dayMs + (sinceMs % dayMs);
}

/** @param month from January 1970 on */
function startOfMonth(month: number): number {
	return Date.UTC(1970, month);
}

/** What was learned about cadences from many subscriptions, short enough to be known by every server. */
export interface CadenceTable {
	/** The cadences of the most frequent prices of an `evt`, in days from the shortest, and whom they were learned from. */
	readonly prices: readonly (readonly [
		evt: string,
		pricePence: number,
		days: readonly number[],
		from?: CadenceSource,
	])[];
	readonly evts: readonly (readonly [evt: string, days: readonly number[]])[];
	readonly all: readonly number[];
	/** Prices that are paid once, before a longer plan. Missing in tables of versions that did not learn them. */
	readonly trials?: readonly (readonly [evt: string, pricePence: number])[];
	/** Of an `evt` and a cadence, within how many days after its due day nearly all are paid that are paid late. As for `trials`. */
	readonly graces?: readonly (readonly [evt: string, cadenceDays: number, days: number])[];
	/** How an `evt` and a cadence are billed. As for `trials`. */
	readonly billings?: readonly (readonly [evt: string, cadenceDays: number, billing: Billing])[];
}

/** When payments are due that come again and again. */
export interface Billing {
	/** On the same day of the month, instead of after a number of days. */
	readonly isOfCalendar: boolean;
	/** As if the last payment had come on its day, even if it came late or early. */
	readonly keepsDay: boolean;
}

const afterDays: Billing = { isOfCalendar: false, keepsDay: false };

/** Days between renewals that the operator has set, by `evt`; `never` for what is paid once. */
export type RenewalDays = Readonly<Record<string, number | 'never'>>;

/** How much later than due a renewal may come, where that is not in proportion to the cadence alone. */
export interface Grace {
	/** Days by `evt`, as the operator has set them. */
	readonly setDays?: Readonly<Record<string, number>>;
	/** Whether what was learned counts. */
	readonly isLearned?: boolean;
}

/** What others tell about a subscription. */
export interface ToldModes {
	/** Possible cadences, in days from the shortest. */
	readonly modes: readonly number[];
	readonly from: CadenceSource;
}

export const emptyCadenceTable: CadenceTable = {
	prices: [],
	evts: [],
	all: [],
	trials: [],
	graces: [],
	billings: [],
};

/** The cadences of subscriptions, by what was learned from many, and what else the account says of them. */
export class Cadences {
	readonly cancellationEvt: CancellationEvt;
	readonly #byPrice: ReadonlyMap<string, ReadonlyMap<number, ToldModes>>;
	readonly #byEvt: ReadonlyMap<string, readonly number[]>;
	readonly #all: readonly number[];
	readonly #setDays: ReadonlyMap<string, number | 'never'>;
	readonly #trials: ReadonlyMap<string, ReadonlySet<number>>;
	readonly #setGraceDays: ReadonlyMap<string, number>;
	readonly #graces: ReadonlyMap<
		string,
		readonly (readonly [evt: string, cadenceDays: number, days: number])[]
	>;
	readonly #billings: ReadonlyMap<
		string,
		readonly (readonly [evt: string, cadenceDays: number, billing: Billing])[]
	>;

	/** @param setDays by `evt`, as the operator has set them */
	constructor(
		{ prices, evts, all, trials = [], graces = [], billings = [] }: CadenceTable,
		setDays: RenewalDays,
		{ setDays: setGraceDays = {}, isLearned = false }: Grace = {},
		cancellationEvt: CancellationEvt = null,
	) {
		this.cancellationEvt = cancellationEvt;
		const ofEvts = Map.groupBy(prices, ([evt]) => evt);
		this.#byPrice = new Map(
			ofEvts
				.entries()
				.map(([evt, own]) => [
					evt,
					new Map(own.map(([, pence, modes, from = 'price']) => [pence, { modes, from }])),
				]),
		);
		this.#byEvt = new Map(evts);
		this.#all = all;
		this.#setDays = new Map(Object.entries(setDays));
		const pricesOfTrials = Map.groupBy(trials, ([evt]) => evt);
		this.#trials = new Map(
			pricesOfTrials.entries().map(([evt, own]) => [evt, new Set(own.map(([, pence]) => pence))]),
		);
		this.#setGraceDays = new Map(Object.entries(setGraceDays));
		this.#graces = isLearned ? Map.groupBy(graces, ([evt]) => evt) : new Map();
		this.#billings = isLearned ? Map.groupBy(billings, ([evt]) => evt) : new Map();
	}

	/** Whether the operator has said that it is paid once. */
	isPaidOnce(evt: string): boolean {
		return this.#setDays.get(evt) === 'never';
	}

	/** Whether a cadence is that of subscriptions with other `evt`s: nobody has renewed this one, and nobody has said how often it is. */
	isBorrowed(evt: string, cadence: Cadence): boolean {
		return cadence.from === 'account' && !this.#setDays.has(evt);
	}

	/** How many days after the due day a renewal is in time. */
	graceDays(evt: string, { days }: Cadence): number {
		const learned = (this.#graces.get(evt) ?? []).map(([, of, grace]) => (isAbout(days, of) ? grace : 0));
		return this.#setGraceDays.get(evt) ?? Math.max(graceDays(days), ...learned);
	}

	/** When payments with a cadence are due. */
	billing(evt: string, { days }: Cadence): Billing {
		return this.#billings.get(evt)?.find(([, of]) => of === days)?.[2] ?? afterDays;
	}

	/** Whether what is paid first at this price is a trial: nothing, or what is paid once before a longer plan. */
	isOfTrial(evt: string, pricePence: number): boolean {
		return pricePence === 0 || (this.#trials.get(evt)?.has(pricePence) ?? false);
	}

	/** How long a payment may last that is the last one: of several cadences, the longest. */
	longest(evt: string, payment: Payment): Cadence | null {
		return this.of({ evt, payments: [payment] }, Number.POSITIVE_INFINITY)[0] ?? null;
	}

	/**
	 * The cadence of each payment of a subscription: how long it is paid for. Where several are possible, it is the shortest
	 * that is not over when the next payment comes, so that nothing is lost before its own time.
	 * @returns null for payments of which nothing is known
	 */
	of({ evt, payments }: Paid, asOfMs: number): readonly (Cadence | null)[] {
		const set = this.#setDays.get(evt);
		if (set === 'never') return payments.map(() => null);
		if (set !== undefined) return payments.map(() => ({ days: set, from: 'account' }));
		const cadences: (Cadence | null)[] = payments.map(() => null);
		for (const plan of plansOf(payments)) {
			const own = plan.gapsDays.length > 1 ? this.#own(evt, plan) : undefined;
			for (const place of plan.places) {
				const untilMs = payments[place + 1]?.atMs ?? asOfMs;
				const silentDays = (untilMs - (payments[place] as Payment).atMs) / dayMs;
				cadences[place] = own ?? this.#ofOthers(evt, payments[place] as Payment, plan, silentDays);
			}
		}
		return cadences;
	}

	/** Its own, in the days that others of its price have, if these are about the same: few times are not exact, but many are. */
	#own(evt: string, { gapsDays, lastPence }: PricePlan): Cadence {
		return { days: ownDays(gapsDays, this.#ofPrice(evt, lastPence)?.modes ?? []), from: 'own' };
	}

	/** What similar subscriptions tell about one with at most one time between payments. */
	#ofOthers(
		evt: string,
		{ pricePence }: Payment,
		{ gapsDays }: PricePlan,
		silentDays: number,
	): Cadence | null {
		const [gapDays] = gapsDays;
		const sources: readonly (ToldModes | undefined)[] = [
			this.#ofPrice(evt, pricePence),
			{ modes: this.#byEvt.get(evt) ?? [], from: 'event' },
			{ modes: this.#all, from: 'account' },
		];
		for (const { modes, from } of sources.filter((told) => told !== undefined)) {
			const isSame = gapDays !== undefined && modes.some((days) => isAbout(gapDays, days));
			// Its own time tells more than those of other prices, unless they are about the same.
			if (modes.length === 0 || !(isSame || from === 'price' || gapDays === undefined)) continue;
			const days = likelyDays(modes, gapDays, silentDays);
			if (gapDays === undefined && from === 'price' && modes.length > 1)
				return { days, from, isUnclear: days < (modes.at(-1) as number) };
			return { days, from: isSame ? 'own' : from };
		}
		return gapDays === undefined ? null : { days: wholeDays(gapDays), from: 'own' };
	}

	/** The cadences of a price, else of the nearest known one. */
	#ofPrice(evt: string, pricePence: number): ToldModes | undefined {
		const byPrice = this.#byPrice.get(evt) ?? new Map<number, ToldModes>();
		const exact = byPrice.get(pricePence);
		if (exact) return exact;
		const near = [...byPrice].filter(([price]) => isAbout(price, pricePence));
		const distance = ([price]: readonly [number, unknown]) => Math.abs(price - pricePence);
		return near.sort((a, b) => distance(a) - distance(b))[0]?.[1];
	}
}

/** Where nothing was learned: only a subscription's own payments tell how often it is paid. */
export const noCadences = new Cadences(emptyCadenceTable, {});

/**
 * Which of several cadences a subscription has: that which explains its only time between payments, else the shortest that
 * is not over.
 * @param modes from the shortest
 */
export function likelyDays(
	modes: readonly number[],
	gapDays: number | undefined,
	silentDays: number,
): number {
	const longest = modes.at(-1) as number;
	if (gapDays === undefined) return modes.find((days) => silentDays < days + graceDays(days)) ?? longest;
	// After a pause.
	if (modes.every((days) => fit(gapDays, days) === 0))
		return modes.findLast((days) => days < gapDays) ?? (modes[0] as number);
	return mostExplaining(modes, gapDays);
}

/** The cadence that explains a time best; of several, the nearest to it. */
function mostExplaining(modes: readonly number[], gapDays: number): number {
	const distance = (days: number) => Math.abs(gapDays - days);
	return modes.toSorted(
		(a, b) => fit(gapDays, b) - fit(gapDays, a) || distance(a) - distance(b),
	)[0] as number;
}

/**
 * The cadence of a subscription by the times between its own payments. Few times are not exact, and some that were late or double are
 * alike by chance: one that others of its price have and that explains nearly as many is that of the plan.
 * @param modes those of others
 */
export function ownDays(gapsDays: readonly number[], modes: readonly number[]): number {
	const days = usualDays(gapsDays);
	const explained = (each: number) => gapsDays.reduce((sum, gapDays) => sum + fit(gapDays, each), 0);
	const weeks = weeksOf(gapsDays);
	const alike = gapsDays.filter((gapDays) => isAbout(gapDays, days)).length;
	if (alike >= exactGaps) return weeks ?? wholeDays(days);
	const likely = modes
		.filter((each) => isOnAverage(gapsDays, each) || explained(each) >= nearlyAsMany * explained(days))
		.sort((a, b) => explained(b) - explained(a));
	const mode = likely.find((each) => fourWeeksDays.includes(each) === (weeks !== undefined)) ?? likely[0];
	return mode ?? weeks ?? wholeDays(days);
}

/**
 * How much later than due a renewal may come. Until then a subscription is at risk, and not lost: card payments are tried
 * again for two weeks or more.
 */
export function graceDays(cadenceDays: number): number {
	return Math.min(maxGraceDays, cadenceDays / 2);
}

/** Payments of a subscription with about the same price. */
export interface PricePlan {
	/** Of its payments among those of the subscription. */
	readonly places: readonly number[];
	/** Times from these payments to the next of any price, the latest. */
	readonly gapsDays: readonly number[];
	readonly pricesPence: ReadonlySet<number>;
	readonly lastPence: number;
}

/** Who changes from a monthly to an annual plan has two cadences, who pays more than before has one. */
export function plansOf(payments: readonly Payment[]): readonly PricePlan[] {
	const plans: { lastPence: number; places: number[]; gapsDays: number[]; pricesPence: Set<number> }[] = [];
	for (const [place, { atMs, pricePence, refundedAtMs }] of payments.entries()) {
		let plan = plans.find(({ lastPence }) => isWithin(otherPlan, lastPence, pricePence));
		if (!plan) {
			plan = { lastPence: pricePence, places: [], gapsDays: [], pricesPence: new Set() };
			plans.push(plan);
		}
		plan.lastPence = pricePence;
		plan.places.push(place);
		plan.pricesPence.add(pricePence);
		const next = payments[place + 1];
		// Who buys again what was paid back does not renew it.
		if (next && !(refundedAtMs !== null && refundedAtMs <= next.atMs))
			plan.gapsDays.push((next.atMs - atMs) / dayMs);
	}
	return plans.map(({ gapsDays, ...plan }) => ({ ...plan, gapsDays: gapsDays.slice(-maxGaps) }));
}

export function isWithin(ratio: number, a: number, b: number): boolean {
	return a === b || (Math.min(a, b) > 0 && Math.max(a, b) < ratio * Math.min(a, b));
}

export function isAbout(gapDays: number, days: number): boolean {
	return isWithin(sameCadence, gapDays, days);
}

/** The cadence that explains most of a subscription's times between payments; of several, the shortest. */
export function usualDays(gapsDays: readonly number[]): number {
	const sorted = gapsDays.toSorted((a, b) => a - b);
	let best = { days: sorted[0] as number, score: 0 };
	for (const days of [...sorted, medianOf(sorted)]) {
		const score = sorted.reduce((sum, gap) => sum + fit(gap, days), 0);
		if (score > best.score || (score === best.score && days < best.days)) best = { days, score };
	}
	return medianOf(sorted.filter((gap) => isAbout(gap, best.days)));
}

/** Whether times are those of a cadence on average, as where one that came late is followed by a short one. */
function isOnAverage(gapsDays: readonly number[], days: number): boolean {
	const mean = gapsDays.reduce((sum, gapDays) => sum + gapDays, 0) / gapsDays.length;
	return Math.abs(mean / days - 1) <= nearAverage && gapsDays.every((gapDays) => gapDays < 2 * days);
}

/** So many weeks, if nearly all of several times are exactly that: those of months have 28 days once a year at most. */
export function weeksOf(gapsDays: readonly number[]): number | undefined {
	if (gapsDays.length < 2) return undefined;
	const days = usualDays(gapsDays);
	const weeks = fourWeeksDays.find((each) => Math.abs(each - days) < nearWeeksDays);
	const exact = gapsDays.filter((gapDays) => Math.abs(gapDays - (weeks ?? 0)) < nearWeeksDays).length;
	const alike = gapsDays.filter((gapDays) => isAbout(gapDays, days)).length;
	return weeks !== undefined && exact > minExact * alike ? weeks : undefined;
}

/** From 0 to 1. A multiple explains a time less well: half of all times are close to one. */
function fit(gapDays: number, days: number): number {
	if (isAbout(gapDays, days)) return 1;
	const multiple = Math.round(gapDays / days);
	const isMultiple = multiple > 1 && multiple <= maxMultiple;
	return isMultiple && Math.abs(gapDays - multiple * days) <= multipleTolerance * days ? 0.5 / multiple : 0;
}

/** @param sorted at least one */
export function medianOf(sorted: ArrayLike<number>): number {
	const middle = (sorted.length - 1) / 2;
	return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2;
}

/** Few times are not exact: months have 28 to 31 days, and payments come late. */
export function wholeDays(days: number): number {
	const months = calendarMonthsOf(days);
	return months === undefined ? Math.max(1, Math.round(days)) : months * monthDays;
}
