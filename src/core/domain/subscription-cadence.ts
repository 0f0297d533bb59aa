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

/** Times of which one is at most so many times the other are of one cadence: 21 and 30 days, but not 30 and 45. */
const sameCadence = 1.45;
/** With payments missing, a time is a multiple of the cadence, but for this part of it. */
const multipleTolerance = 0.25;
const maxMultiple = 12;
/** A price so many times as high or low is that of another plan, and not a rise. */
const otherPlan = 1.8;
/** What was paid longer ago than so many payments does not count. Bounds the time, too. */
const maxGaps = 24;
/** So many alike times between a subscription's own payments tell more than those of others at its price. */
const exactGaps = 20;
/** A cadence of others explains a subscription's own times nearly as well as the best one, if it explains this share of it. */
const nearlyAsMany = 0.5;
/** How near the mean of times must be to a cadence, as a share of it. */
const nearAverage = 0.1;
/** A group has a second or third cadence if so many subscriptions, and this share of them, have it. */
const minVotes = 3;
const minShare = 0.1;
const maxModes = 3;
/** A longer grace is learned from at least so many payments that came later than it, if they are this share of all renewals. */
const minLate = 5;
const minLateShare = 0.01;
const nearlyAll = 0.95;
const maxGraceDays = 30;
/** A price is that of a trial if so large a share of those who pay again pay for a longer plan next. */
const minSwitched = 0.9;
/** What is paid less for so long at first is no trial. */
const minFirstDays = 28;
/** With at least so many chances to renew, a cadence at which fewer than this share renewed is none. */
const fewChances = 10;
const minRenewed = 0.05;

/** Payments are those of weeks if they are so near, and so large a share of them. */
const nearWeeksDays = 0.25;
const minExact = 0.75;
/** Payments come on the same day of the month if they are so near to it. */
const onDayDays = 0.25;
/** A payment is late or early by so many days, so that it tells whether the billing day is kept. */
export const tellingDays = 1.5;

export const monthDays = 365.25 / 12;
/** Of plans. Cadences within a tenth of so many months are that: months have 28 to 31 days. */
const calendarMonths = [1, 2, 3, 4, 6, 12, 24];
/** Plans of four weeks, sold as such, bring thirteen payments a year instead of twelve. */
const fourWeeksDays = [28, 56, 84];
/** What plans are mostly sold for. */
const soldMonths = [1, 3, 6, 12, 24];

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
interface Told {
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
	readonly #byPrice: ReadonlyMap<string, ReadonlyMap<number, Told>>;
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
	#own(evt: string, { gapsDays, lastPence }: Plan): Cadence {
		return { days: ownDays(gapsDays, this.#ofPrice(evt, lastPence)?.modes ?? []), from: 'own' };
	}

	/** What similar subscriptions tell about one with at most one time between payments. */
	#ofOthers(evt: string, { pricePence }: Payment, { gapsDays }: Plan, silentDays: number): Cadence | null {
		const [gapDays] = gapsDays;
		const sources: readonly (Told | undefined)[] = [
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
	#ofPrice(evt: string, pricePence: number): Told | undefined {
		const byPrice = this.#byPrice.get(evt) ?? new Map<number, Told>();
		const exact = byPrice.get(pricePence);
		if (exact) return exact;
		const near = [...byPrice].filter(([price]) => isAbout(price, pricePence));
		const distance = ([price]: readonly [number, unknown]) => Math.abs(price - pricePence);
		return near.sort((a, b) => distance(a) - distance(b))[0]?.[1];
	}
}

/** Where nothing was learned: only a subscription's own payments tell how often it is paid. */
export const noCadences = new Cadences(emptyCadenceTable, {});

const maxTabledPrices = 200;
const maxTabledEvts = 100;

/** What subscriptions, all or a sample, tell about cadences as of a moment. */
export function cadenceTableOf(subscriptions: Iterable<Paid>, asOfMs: number): CadenceTable {
	const byEvt = new Map<string, PeerGroup>();
	const all = new PeerGroup();
	for (const { evt, payments } of subscriptions) {
		const group = byEvt.getOrInsertComputed(evt, () => new PeerGroup());
		group.addBeginning(payments);
		for (const plan of plansOf(payments)) {
			const weeks = weeksOf(plan.gapsDays);
			const days = plan.gapsDays.length > 1 ? usualDays(plan.gapsDays) : plan.gapsDays[0];
			const last = payments[plan.places.at(-1) as number] as Payment;
			const silentDays = (asOfMs - last.atMs) / dayMs;
			if (days !== undefined) group.addPlan(plan, days, payments);
			for (const price of plan.pricesPence) group.know(price);
			for (const peers of [group, all])
				if (days !== undefined) peers.add(days, plan, weeks);
				else if (last === payments.at(-1) && last.refundedAtMs === null)
					peers.addSilent(silentDays, last.pricePence);
		}
	}
	const evts = [...byEvt].sort(([, a], [, b]) => b.all.size - a.all.size).slice(0, maxTabledEvts);
	const prices = evts
		.flatMap(([evt, group]) => group.prices().map(([pence, votes]) => ({ evt, group, pence, votes })))
		.sort((a, b) => b.votes - a.votes)
		.slice(0, maxTabledPrices);
	return {
		// Also those of which nothing is known, though something may be of near ones.
		prices: prices.map(({ evt, group, pence }) => {
			const { modes, from } =
				group.all.modes.length > 0
					? group.ofPrice(pence)
					: { ...all.ofPrice(pence), from: 'account' as const };
			return [evt, pence, modes, from] as const;
		}),
		evts: evts.map(([evt, group]) => [evt, group.all.modes]),
		all: all.all.modes,
		trials: evts
			.flatMap(([evt, group]) => group.trialPrices().map((pence) => [evt, pence] as const))
			.slice(0, maxTabledPrices),
		graces: evts.flatMap(([evt, group]) =>
			group.graces().map(([days, grace]) => [evt, days, grace] as const),
		),
		billings: evts.flatMap(([evt, group]) =>
			group.billings().map(([days, billing]) => [evt, days, billing] as const),
		),
	};
}

/**
 * Which of several cadences a subscription has: that which explains its only time between payments, else the shortest that
 * is not over.
 * @param modes from the shortest
 */
function likelyDays(modes: readonly number[], gapDays: number | undefined, silentDays: number): number {
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
function ownDays(gapsDays: readonly number[], modes: readonly number[]): number {
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

/** Whether a payment is late by about so many cadences: one before it is missing. */
function isMissed(lateDays: number, days: number): boolean {
	const times = Math.round(lateDays / days);
	return times > 0 && Math.abs(lateDays - times * days) <= multipleTolerance * days;
}

/** Payments of a subscription with about the same price. */
interface Plan {
	/** Of its payments among those of the subscription. */
	readonly places: readonly number[];
	/** Times from these payments to the next of any price, the latest. */
	readonly gapsDays: readonly number[];
	readonly pricesPence: ReadonlySet<number>;
	readonly lastPence: number;
}

/** Who changes from a monthly to an annual plan has two cadences, who pays more than before has one. */
function plansOf(payments: readonly Payment[]): readonly Plan[] {
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

function isWithin(ratio: number, a: number, b: number): boolean {
	return a === b || (Math.min(a, b) > 0 && Math.max(a, b) < ratio * Math.min(a, b));
}

function isAbout(gapDays: number, days: number): boolean {
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
function weeksOf(gapsDays: readonly number[]): number | undefined {
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
function medianOf(sorted: ArrayLike<number>): number {
	const middle = (sorted.length - 1) / 2;
	return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2;
}

/** A plan that was paid more than once. */
interface PaidPlan {
	readonly plan: Plan;
	/** Of its subscription. */
	readonly payments: readonly Payment[];
}

/** Payments that follow each other, so many at a time, of which all but the last are a plan's: after a half price, the next may be of any. */
function inARow({ plan, payments }: PaidPlan, count: number): readonly (readonly number[])[] {
	return plan.places.flatMap((at, place) =>
		plan.places[place + count - 2] === at + count - 2 && at + count <= payments.length
			? [payments.slice(at, at + count).map(({ atMs }) => atMs)]
			: [],
	);
}

/** Whether most renewals came on the same day of the month. */
function isPaidByCalendar(plans: readonly PaidPlan[], days: number): boolean {
	if (calendarMonthsOf(days) === undefined) return false;
	let [onDay, others] = [0, 0];
	for (const plan of plans)
		for (const [first, second] of inARow(plan, 2) as [number, number][])
			if (Math.abs(second - dueAfter(first, days, 1, true)) <= onDayDays * dayMs) onDay++;
			else if (isAbout((second - first) / dayMs, days)) others++;
	return onDay >= minLate && onDay > others;
}

/** Whether most of those who paid late or early paid the next time as if they had not. */
function isDayKept(plans: readonly PaidPlan[], days: number, isOfCalendar: boolean): boolean {
	let [kept, moved] = [0, 0];
	for (const plan of plans)
		for (const [first, second, third] of inARow(plan, 3) as [number, number, number][]) {
			// After one that came late, the next one is early.
			if (second < dueAfter(first, days, 1, isOfCalendar) - dayMs) continue;
			const [asBefore, anew] = [
				dueAfter(first, days, 2, isOfCalendar),
				dueAfter(second, days, 1, isOfCalendar),
			];
			if (Math.abs(asBefore - anew) < tellingDays * dayMs) continue;
			const [toKept, toMoved] = [Math.abs(third - asBefore), Math.abs(third - anew)];
			if (Math.min(toKept, toMoved) > dayMs) continue;
			if (toKept < toMoved) kept++;
			else moved++;
		}
	return kept >= minLate && kept > 3 * moved;
}

/** What is known of the subscriptions of one `evt`, or of all. */
class PeerGroup {
	readonly all = new Votes();
	readonly #byPrice = new Map<number, Votes>();
	/** Those that were paid more than once. */
	readonly #plans: (PaidPlan & { readonly days: number })[] = [];
	/** By the first price above nothing, the payments that came next. */
	readonly #secondPayments = new Map<number, { readonly pence: number; readonly gapDays: number }[]>();

	addPlan(plan: Plan, days: number, payments: readonly Payment[]): void {
		this.#plans.push({ plan, days, payments });
	}

	/** How often each plan that was paid more than once is paid, as others tell it. */
	#plansByDays() {
		const modesOfPrice = new Map<number, readonly number[]>();
		return this.#plans.map(({ plan, days: own, payments }) => {
			const { gapsDays, lastPence } = plan;
			const modes = modesOfPrice.getOrInsertComputed(lastPence, () => this.ofPrice(lastPence).modes);
			const isOnly = gapsDays.length === 1 && modes.length > 0;
			return { plan, payments, days: isOnly ? likelyDays(modes, own, 0) : ownDays(gapsDays, modes) };
		});
	}

	/** How the cadences are billed of which payments tell. */
	billings(): readonly (readonly [cadenceDays: number, billing: Billing])[] {
		return [...Map.groupBy(this.#plansByDays(), ({ days }) => days)].flatMap(([days, plans]) => {
			const isOfCalendar = isPaidByCalendar(plans, days);
			const keepsDay = isDayKept(plans, days, isOfCalendar);
			return isOfCalendar || keepsDay ? [[days, { isOfCalendar, keepsDay }] as const] : [];
		});
	}

	/**
	 * By cadence, within how many days nearly all are paid that are paid late, where that is longer than the usual grace. Payments
	 * that are late by whole cadences are not: one before them is missing.
	 */
	graces(): readonly (readonly [cadenceDays: number, days: number])[] {
		const ofCadence = new Map<number, { renewals: number; late: number[] }>();
		for (const {
			plan: { gapsDays },
			days,
		} of this.#plansByDays()) {
			const told = ofCadence.getOrInsertComputed(days, () => ({ renewals: 0, late: [] }));
			told.renewals += gapsDays.length;
			for (const gapDays of gapsDays) {
				const lateDays = gapDays - days;
				if (
					lateDays > graceDays(days) &&
					lateDays <= Math.min(maxGraceDays, 2 * days) &&
					!isMissed(lateDays, days)
				)
					told.late.push(lateDays);
			}
		}
		return [...ofCadence].flatMap(([days, { renewals, late }]) => {
			if (late.length < minLate || late.length < minLateShare * renewals) return [];
			const sorted = late.toSorted((a, b) => a - b);
			return [[days, Math.ceil(sorted[Math.ceil(nearlyAll * late.length) - 1] as number)] as const];
		});
	}

	addBeginning(payments: readonly Payment[]): void {
		const place = payments.findIndex(({ pricePence }) => pricePence > 0);
		const [first, second] = [payments[place], payments[place + 1]];
		if (!first || !second || (first.refundedAtMs !== null && first.refundedAtMs <= second.atMs)) return;
		const gapDays = (second.atMs - first.atMs) / dayMs;
		this.#secondPayments
			.getOrInsertComputed(first.pricePence, () => [])
			.push({ pence: second.pricePence, gapDays });
	}

	/**
	 * The prices that are paid once: nearly all who pay again pay that of a longer plan next. Who pays £1 for a week and £5 for a
	 * month then has tried, and not subscribed yet. Not so who pays £1 for the first month, or £5 a month and then for a year.
	 */
	trialPrices(): readonly number[] {
		return [...this.#secondPayments].flatMap(([first, next]) => {
			if (!this.#isFirstPrice(first)) return [];
			const daysOf = new Map<number, number>();
			const longer = next.filter(({ pence, gapDays }) => {
				if (pence < otherPlan * first) return false;
				const days = daysOf.getOrInsertComputed(pence, () => this.#longestOf(pence));
				return gapDays * sameCadence <= days;
			});
			return longer.length >= minSwitched * next.length ? [first] : [];
		});
	}

	/** As others who have paid about this price again tell it; 0 if nobody does. */
	#longestOf(pricePence: number): number {
		const { modes, from } = this.ofPrice(pricePence);
		return from === 'price' ? (modes.at(-1) ?? 0) : 0;
	}

	/** @param weeks whether, and how many days, a plan is of whole weeks */
	add(days: number, { pricesPence, gapsDays }: Plan, weeks: number | undefined): void {
		for (const votes of [this.all, ...[...pricesPence].map((price) => this.#votesFor(price))])
			votes.add(days, weeks ?? (gapsDays.length > 1 ? 0 : undefined));
	}

	/** Has a price told by near and lower ones, also where it tells nothing itself, as one that was paid back. */
	know(pricePence: number): void {
		this.#votesFor(pricePence);
	}

	addSilent(days: number, pricePence: number): void {
		this.all.addSilent(days);
		this.#votesFor(pricePence).addSilent(days);
	}

	/** Whether nearly all who paid a price first, and paid again, paid that of another plan next. */
	#isFirstPrice(pricePence: number): boolean {
		const next = this.#secondPayments.get(pricePence) ?? [];
		const dearer = next.filter(({ pence }) => pence >= otherPlan * pricePence);
		return next.length >= minVotes && dearer.length >= minSwitched * next.length;
	}

	#votesFor(pricePence: number): Votes {
		return this.#byPrice.getOrInsertComputed(pricePence, () => new Votes());
	}

	/** All prices, with the number of subscriptions that have each. */
	prices(): readonly (readonly [pricePence: number, votes: number])[] {
		return [...this.#byPrice].map(([price, votes]) => [price, votes.size]);
	}

	/** The cadences of a price, else of near ones, up to half as high again or as low, else that of a longer plan. */
	ofPrice(pricePence: number): Told {
		const exact = this.#byPrice.get(pricePence)?.modes ?? [];
		if (exact.length > 0) return { modes: exact, from: 'price' };
		const near = new Votes();
		for (const [price, votes] of this.#byPrice)
			if (Math.abs(sizeOf(price) - sizeOf(pricePence)) <= nearSteps) near.addAll(votes);
		if (near.modes.length > 0) return { modes: near.modes, from: 'price' };
		return { modes: this.#longerThan(pricePence), from: 'event' };
	}

	/**
	 * The cadence of a price above all known ones below it. A plan of several months costs less than so many plans of one,
	 * so ten times the price of a month is that of a year, of which nobody need have renewed yet.
	 */
	#longerThan(pricePence: number): readonly number[] {
		const lower = [...this.#byPrice]
			.filter(([price, votes]) => price > 0 && price < pricePence && votes.modes.length > 0)
			.reduce((best, [price]) => Math.max(best, price), 0);
		if (lower === 0) return [];
		const days = this.#byPrice.get(lower)?.modes.at(-1) as number;
		// Dearer, but not for longer. So is what nearly all pay next who have paid for a month or more: the first time cost less.
		if (isWithin(otherPlan, lower, pricePence) || (days >= minFirstDays && this.#isFirstPrice(lower)))
			return [days];
		const months = (days / monthDays) * (pricePence / lower);
		return [monthDays * (soldMonths.find((each) => each >= 0.95 * months) ?? 24)];
	}
}

/** In steps of a tenth. */
const nearSteps = 4;

function sizeOf(pricePence: number): number {
	// No price is near to none.
	return pricePence > 0 ? Math.round(Math.log(pricePence) / Math.log(1.1)) : -2 * nearSteps;
}

/** The cadences of a group of subscriptions, each of which has one vote. */
class Votes {
	readonly #days: number[] = [];
	/** Of plans that were paid often enough to tell, how many days of whole weeks, or 0 if they are not of weeks. */
	readonly #weeks: number[] = [];
	/** How long ago those paid who have not paid again. */
	readonly #silentDays: number[] = [];
	#modes: readonly number[] | undefined;

	add(days: number, weeks?: number): void {
		this.#days.push(days);
		if (weeks !== undefined && fourWeeksDays.some((each) => isAbout(each, days)))
			this.#weeks.push(weeks || -days);
	}

	addSilent(days: number): void {
		this.#silentDays.push(days);
	}

	get size(): number {
		return this.#days.length + this.#silentDays.length;
	}

	addAll(others: Votes): void {
		for (const each of others.#days) this.#days.push(each);
		for (const each of others.#weeks) this.#weeks.push(each);
		for (const each of others.#silentDays) this.#silentDays.push(each);
	}

	/** The cadences that many have, from the shortest. To be asked once all have voted. */
	get modes(): readonly number[] {
		this.#modes ??= modesOf(this.#days)
			.flatMap((days) => this.#apart(days))
			.filter((days) => this.#isPlausible(days));
		return this.#modes;
	}

	/** Four weeks and a month are alike, but may be two plans. */
	#apart(days: number): readonly number[] {
		const alike = this.#weeks.filter((each) => isAbout(Math.abs(each), days));
		const weeks = alike.filter((each) => each > 0);
		const least = Math.max(minVotes, minShare * alike.length);
		if (weeks.length < least || alike.length - weeks.length < least) return [days];
		const [middle, others] = [medianOf(weeks.toSorted((a, b) => a - b)), alike.filter((each) => each < 0)];
		return [middle, wholeDays(medianOf(others.map(Math.abs).sort((a, b) => a - b)))];
	}

	/** A few who paid twice do not tell how often the many pay who have not paid again yet. */
	#isPlausible(days: number): boolean {
		const renewed = this.#days.filter((each) => isAbout(each, days)).length;
		const silent = this.#silentDays.filter((each) => each > days + graceDays(days)).length;
		return renewed + silent < fewChances || renewed >= minRenewed * (renewed + silent);
	}
}

function modesOf(days: readonly number[]): readonly number[] {
	let left = Float64Array.from(days).sort();
	const modes: number[] = [];
	while (left.length > 0 && modes.length < maxModes) {
		const most = densest(left);
		if (modes.length > 0 && (most.length < minVotes || most.length < minShare * days.length)) break;
		const mode = medianOf(most);
		modes.push(mode);
		const [first, last] = [most[0] as number, most.at(-1) as number];
		left = left.filter((each) => !isAbout(each, mode) && (each < first || each > last));
	}
	return modes.map(wholeDays).sort((a, b) => a - b);
}

/** Few times are not exact: months have 28 to 31 days, and payments come late. */
function wholeDays(days: number): number {
	const months = calendarMonthsOf(days);
	return months === undefined ? Math.max(1, Math.round(days)) : months * monthDays;
}

/** The most values of one cadence; of several, the smallest ones. */
function densest(sorted: Float64Array): Float64Array {
	let best = sorted.subarray(0, 1);
	let from = 0;
	for (let to = 0; to < sorted.length; to++) {
		while (!isAbout(sorted[from] as number, sorted[to] as number)) from++;
		if (to + 1 - from > best.length) best = sorted.subarray(from, to + 1);
	}
	return best;
}
