import type { Log } from '../core/store/stored-log.ts';
import { type Asked, dayMs, type Payment, paymentsOf, readLog, type Subscription } from './journeys.ts';

/**
 * How long each payment of each subscription lasts, by `docs/reference/reports.md` and without anything of `src/`: what was learned from the
 * others is looked for anew for each price.
 */

/** Until when a payment is paid for, and until when the next one is in time. */
interface Until {
	readonly dueMs: number;
	readonly lapseMs: number;
}

/** A payment with how long it lasts. */
export interface Lasting extends Until {
	readonly atMs: number;
	readonly pence: number;
	/** Null if nothing is known. */
	readonly days: number | null;
	/** The same until it was paid back. */
	readonly kept: Until;
	readonly isPaidBack: boolean;
	readonly raise: Payment['raise'];
	/** When it was said that it ends then. */
	readonly cancelledAtMs: number;
}

/** What a subscription tells about the cadence of its plan: how often it paid, or how long it has not paid again. */
interface Vote {
	readonly days: number | null;
	readonly silentDays: number;
	/** Of several payments, how many days of whole weeks they are apart; 0 if they are not. */
	readonly weeks?: number | undefined;
	readonly prices: readonly number[];
}

const isNear = (a: number, b: number, ratio: number) => a === b || Math.max(a, b) < ratio * Math.min(a, b);
const isAlike = (a: number, b: number) => isNear(a, b, 1.45);
const isOnePlan = (a: number, b: number) => isNear(a, b, 1.8);
const graceOf = (days: number) => Math.min(30, days / 2);
const month = 365.25 / 12;

function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const [below, above] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
	return ((below as number) + (above as number)) / 2;
}

/** The payments of about one price, each with those before it. */
function plansOf(payments: readonly Payment[]): Payment[][] {
	const plans: Payment[][] = [];
	for (const payment of payments) {
		const plan = plans.find((one) => isOnePlan((one.at(-1) as Payment).pence, payment.pence));
		if (plan) plan.push(payment);
		else plans.push([payment]);
	}
	return plans;
}

/** From payments of a plan to the next ones of any, unless they were paid back before. */
function gapsOf(plan: readonly Payment[], payments: readonly Payment[]): number[] {
	const gaps = plan.flatMap((payment) => {
		const next = payments[payments.indexOf(payment) + 1];
		return next && payment.backAtMs > next.atMs ? [(next.atMs - payment.atMs) / dayMs] : [];
	});
	return gaps.slice(-24);
}

/** How well a cadence explains a time between payments: of several times it, half as well for each. */
function explains(days: number, gap: number): number {
	if (isAlike(days, gap)) return 1;
	const times = Math.round(gap / days);
	return times >= 2 && times <= 12 && Math.abs(gap / days - times) <= 0.25 ? 1 / (2 * times) : 0;
}

function usualOf(gaps: readonly number[]): number {
	const tried = [...gaps, median(gaps)].map((days) => ({
		days,
		score: gaps.toSorted((a, b) => a - b).reduce((score, gap) => score + explains(days, gap), 0),
	}));
	const [best] = tried.sort((a, b) => b.score - a.score || a.days - b.days);
	return median(gaps.filter((gap) => isAlike(gap, best?.days as number)));
}

const fourWeeks = [28, 56, 84];

/** So many weeks, if more than three of four times are exactly that; else 0. */
function weeksOf(gaps: readonly number[]): number {
	const usual = usualOf(gaps);
	const weeks = fourWeeks.find((each) => Math.abs(usual - each) < 0.25) ?? 0;
	const exact = gaps.filter((gap) => Math.abs(gap - weeks) < 0.25);
	return exact.length / gaps.filter((gap) => isAlike(gap, usual)).length > 0.75 ? weeks : 0;
}

/** How long the payments of a subscription last by the times between them, if others of its price have these modes. */
function ownOf(gaps: readonly number[], modes: readonly number[]): number {
	const usual = usualOf(gaps);
	const weeks = gaps.length > 1 ? weeksOf(gaps) : 0;
	const alike = gaps.filter((gap) => isAlike(gap, usual));
	if (alike.length >= 20) return weeks || wholeDays(usual);
	const scoreOf = (days: number) => gaps.reduce((sum, gap) => sum + explains(days, gap), 0);
	const able = modes
		.map((days) => ({ days, score: scoreOf(days) }))
		.filter(({ days, score }) => {
			const mean = gaps.reduce((total, gap) => total + gap, 0) / gaps.length;
			const isMean = Math.abs(mean / days - 1) <= 0.1 && Math.max(...gaps) < 2 * days;
			return isMean || score >= scoreOf(usual) / 2;
		})
		.sort((a, b) => b.score - a.score);
	const fitting = able.find(({ days }) => fourWeeks.includes(days) === weeks > 0) ?? able[0];
	return fitting?.days ?? (weeks || wholeDays(usual));
}

function votesOf(payments: readonly Payment[], asOfMs: number): Vote[] {
	return plansOf(payments).flatMap((plan): Vote[] => {
		const gaps = gapsOf(plan, payments);
		const last = plan.at(-1) as Payment;
		const silentDays = (asOfMs - last.atMs) / dayMs;
		if (gaps.length > 0)
			return [
				{
					days: usualOf(gaps),
					silentDays,
					weeks: gaps.length > 1 ? weeksOf(gaps) : undefined,
					prices: [...new Set(plan.map(({ pence }) => pence))],
				},
			];
		const isWaiting = last === payments.at(-1) && last.backAtMs === Number.POSITIVE_INFINITY;
		return isWaiting ? [{ days: null, silentDays, prices: [last.pence] }] : [];
	});
}

/** The cadences that at least 3 and a tenth have, from the shortest; the most frequent one in any case. */
function modesOf(votes: readonly Vote[]): number[] {
	const all = votes.flatMap(({ days }) => (days === null ? [] : [days])).sort((a, b) => a - b);
	const modes: number[] = [];
	for (let left = all; left.length > 0 && modes.length < 3; ) {
		// The most that are alike, of as many the shortest.
		const groups = left.map((first, place) => left.slice(place).filter((days) => isAlike(first, days)));
		const most = Math.max(...groups.map(({ length }) => length));
		if (modes.length > 0 && (most < 3 || most < all.length / 10)) break;
		const group = groups.find(({ length }) => length === most) as number[];
		const mode = median(group);
		modes.push(mode);
		left = left.filter((days) => !isAlike(days, mode) && !group.includes(days));
	}
	const isLikely = (mode: number) => {
		const renewed = all.filter((days) => isAlike(days, mode)).length;
		const lapsed = votes.filter(({ days, silentDays }) => days === null && silentDays > mode + graceOf(mode));
		const chances = renewed + lapsed.length;
		return chances < 10 || renewed >= chances / 20;
	};
	return modes
		.map(wholeDays)
		.flatMap((mode) => {
			// Four weeks and a month may both be sold.
			const close = (days: number | null) => days !== null && isAlike(days, mode);
			const regular = votes.filter(
				({ days, weeks }) => weeks !== undefined && fourWeeks.some((each) => isAlike(each, days ?? 0)),
			);
			const ofWeeks = regular.filter(({ weeks }) => weeks && close(weeks));
			const ofMonths = regular.filter(({ days, weeks }) => !weeks && close(days));
			const least = Math.max(3, (ofWeeks.length + ofMonths.length) / 10);
			if (Math.min(ofWeeks.length, ofMonths.length) < least) return [mode];
			return [
				median(ofWeeks.map(({ weeks }) => weeks as number)),
				wholeDays(median(ofMonths.map(({ days }) => days as number))),
			];
		})
		.filter(isLikely)
		.sort((a, b) => a - b);
}

/** Months where it is about a usual number of them, else days. */
function wholeDays(days: number): number {
	if ([28, 56, 84].some((weeks) => Math.abs(days - weeks) < 0.5)) return Math.round(days);
	const months = [1, 2, 3, 4, 6, 12, 24].find(
		(each) => days >= 0.9 * each * month && days <= 1.1 * each * month,
	);
	return months === undefined ? Math.max(1, Math.round(days)) : months * month;
}

/** The modes of some votes, if more than so many have told one. */
const knownModes = (votes: readonly Vote[], besides: number) =>
	votes.filter(({ days }) => days !== null).length > besides ? modesOf(votes) : [];

/** The same of what is paid: how long something is free tells nothing of that. */
const paidModes = (votes: readonly Vote[]) =>
	knownModes(
		votes.filter(({ days, prices }) => days === null || !prices.includes(0)),
		0,
	);

/** Of the same price, else of near ones. */
function ofPrice(votes: readonly Vote[], pence: number, besides: number): number[] {
	const same = knownModes(
		votes.filter(({ prices }) => prices.includes(pence)),
		besides,
	);
	if (same.length > 0) return same;
	// In steps of a tenth; who has paid two near prices counts twice. Nothing is near to what is free.
	const stepOf = (price: number) => Math.round(Math.log(price) / Math.log(1.1));
	const isClose = (price: number) =>
		price === pence || (price > 0 && pence > 0 && Math.abs(stepOf(price) - stepOf(pence)) <= 4);
	const near = votes.flatMap((vote) => vote.prices.filter(isClose).map(() => vote));
	return knownModes(near, besides);
}

/** Of a price that nobody has renewed, by the next lower one that somebody has. */
function inProportion(
	votes: readonly Vote[],
	pence: number,
	isFirstPrice: (price: number) => boolean,
): number[] | undefined {
	const lower = new Set(votes.flatMap(({ prices }) => prices).filter((price) => price > 0 && price < pence));
	for (const price of [...lower].sort((a, b) => b - a)) {
		const longest = knownModes(
			votes.filter(({ prices }) => prices.includes(price)),
			0,
		).at(-1);
		if (longest === undefined) continue;
		if (isOnePlan(price, pence) || (longest >= 28 && isFirstPrice(price))) return [longest];
		const months = ((longest / month) * pence) / price;
		return [month * ([1, 3, 6, 12, 24].find((sold) => sold >= 0.95 * months) ?? 24)];
	}
	return undefined;
}

/** Of several cadences, that which explains the only time between payments, else the shortest that is not over. */
function choose(modes: readonly number[], gap: number | undefined, silentDays: number): number {
	if (gap === undefined)
		return modes.find((days) => silentDays < days + graceOf(days)) ?? (modes.at(-1) as number);
	const [best] = modes
		.map((days) => ({ days, score: explains(days, gap) }))
		.sort((a, b) => b.score - a.score || Math.abs(a.days - gap) - Math.abs(b.days - gap));
	if (best && best.score > 0) return best.days;
	return modes.findLast((days) => days < gap) ?? (modes[0] as number);
}

const later = (a: Until, b: Until) => (b.dueMs >= a.dueMs ? b : a);
const never: Until = { dueMs: Number.NEGATIVE_INFINITY, lapseMs: Number.NEGATIVE_INFINITY };

/** Of payments, when the last of them is over. */
export function latestOf(some: readonly Until[]): Until {
	return some.reduce(later, never);
}

/** The same of all payments so far: who cancels before that is over has no time to pay late. */
export function overAt(
	payments: readonly Lasting[],
	which: 'paid' | 'kept' = 'paid',
): Until & { isByWill: boolean } {
	const last = latestOf(payments.map((payment) => (which === 'paid' ? payment : payment.kept)));
	const saidMs = payments.at(-1)?.cancelledAtMs ?? Number.POSITIVE_INFINITY;
	const isCancelled = Number.isFinite(saidMs) && saidMs <= last.lapseMs;
	const isCut = payments.some(({ kept, dueMs }) => kept.dueMs === last.dueMs && kept.dueMs < dueMs);
	return { ...last, ...(isCancelled && { lapseMs: last.dueMs }), isByWill: isCancelled || isCut };
}

/** A day from which on something was paid so many times without a break. */
interface BillingDay {
	readonly fromMs: number;
	readonly days: number;
	readonly times: number;
	readonly isOfCalendar: boolean;
}

/** When so many times of a payment are over. */
function afterTimes(atMs: number, days: number, times: number, isOfCalendar: boolean): number {
	const months = [1, 2, 3, 4, 6, 12, 24].find((each) => each * month === days);
	if (months === undefined || !isOfCalendar) return Math.round(atMs + times * days * dayMs);
	return Temporal.Instant.fromEpochMilliseconds(atMs)
		.toZonedDateTimeISO('UTC')
		.add({ months: times * months }).epochMilliseconds;
}

function lasting(
	{ atMs, pence, backAtMs, raise, cancelledAtMs }: Payment,
	days: number | null,
	grace: number,
	{ fromMs, times, isOfCalendar }: Omit<BillingDay, 'days'>,
): Lasting {
	const dueMs = days === null ? Number.POSITIVE_INFINITY : afterTimes(fromMs, days, times, isOfCalendar);
	const lapseMs = days === null ? Number.POSITIVE_INFINITY : Math.round(dueMs + grace * dayMs);
	const kept = backAtMs < dueMs ? { dueMs: backAtMs, lapseMs: backAtMs } : { dueMs, lapseMs };
	return {
		atMs,
		pence,
		days,
		dueMs,
		lapseMs,
		kept,
		isPaidBack: Number.isFinite(backAtMs),
		raise,
		cancelledAtMs,
	};
}

/** What is known of a subscription's payments, and the trial before them. */
export interface TriedPayments {
	/** From the first that is not of a trial. */
	readonly payments: readonly Lasting[];
	/** When the trial began; null without one. */
	readonly triedAtMs: number | null;
	/** The price of the trial's first payment. */
	readonly triedPence: number;
	/** Until when it may be paid for in time. */
	readonly decidedAtMs: number;
	/** When it was cancelled, after its last payment; Infinity if it was not. */
	readonly trialCancelledAtMs: number;
	/** How long its first payment lasts by its price alone, if no other comes. */
	readonly soldDays: number | null;
}

/** The plans that those of an `evt` have paid more than once, with how often these are paid. */
function repeatedPlans(all: readonly (readonly Payment[])[], modesFor: (price: number) => readonly number[]) {
	return all.flatMap((payments) =>
		plansOf(payments).flatMap((plan) => {
			const gaps = gapsOf(plan, payments);
			if (gaps.length === 0) return [];
			const modes = modesFor((plan.at(-1) as Payment).pence);
			const isOnly = gaps.length === 1 && modes.length > 0;
			return [{ payments, plan, gaps, days: isOnly ? choose(modes, gaps[0], 0) : ownOf(gaps, modes) }];
		}),
	);
}

/** Whether plans of a cadence are due on the same day of the month, and whether that day is kept, whenever they are paid. */
function billingOf(all: ReturnType<typeof repeatedPlans>, days: number) {
	const plans = all.filter((one) => one.days === days);
	const runsOf = (length: number) =>
		plans.flatMap(({ payments, plan }) =>
			payments.flatMap((_, place) => {
				const run = payments.slice(place, place + length);
				return run.length === length && run.slice(0, -1).every((one) => plan.includes(one))
					? [run.map(({ atMs }) => atMs)]
					: [];
			}),
		) as [number, number, number][];
	const isOnDay = ([first, second]: readonly number[]) =>
		Math.abs((second as number) - afterTimes(first as number, days, 1, true)) <= dayMs / 4;
	const isMonths = [1, 2, 3, 4, 6, 12, 24].some((each) => each * month === days);
	const pairs = isMonths ? runsOf(2) : [];
	const onDay = pairs.filter(isOnDay);
	const others = pairs.filter((pair) => !isOnDay(pair) && isAlike((pair[1] - pair[0]) / dayMs, days));
	const isOfCalendar = onDay.length >= 5 && onDay.length > others.length;
	const told = runsOf(3).flatMap(([first, second, third]) => {
		if (second < afterTimes(first, days, 1, isOfCalendar) - dayMs) return [];
		const [asBefore, anew] = [
			afterTimes(first, days, 2, isOfCalendar),
			afterTimes(second, days, 1, isOfCalendar),
		];
		if (Math.abs(asBefore - anew) < 1.5 * dayMs) return [];
		const [near, far] = [Math.abs(third - asBefore), Math.abs(third - anew)];
		return Math.min(near, far) > dayMs ? [] : [near < far];
	});
	const kept = told.filter((each) => each).length;
	return { isOfCalendar, keepsDay: kept >= 5 && kept > 3 * (told.length - kept) };
}

/** Within how many days those of an `evt` are paid that are paid late, by how often they are paid. */
function gracesOf(plans: ReturnType<typeof repeatedPlans>): (days: number) => number {
	const gaps = plans.flatMap((plan) => plan.gaps.map((gap) => ({ days: plan.days, late: gap - plan.days })));
	const graces = [...Map.groupBy(gaps, ({ days }) => days)].flatMap(([days, own]) => {
		const isMissing = (late: number) => {
			const times = Math.round(late / days);
			return times >= 1 && Math.abs(late / days - times) <= 0.25;
		};
		const late = own
			.map((one) => one.late)
			.filter((one) => one > graceOf(days) && one <= Math.min(30, 2 * days) && !isMissing(one))
			.sort((a, b) => a - b);
		if (late.length < 5 || late.length < own.length / 100) return [];
		return [{ days, grace: Math.ceil(late[Math.ceil(0.95 * late.length) - 1] as number) }];
	});
	return (days) =>
		Math.max(graceOf(days), ...graces.filter((one) => isAlike(one.days, days)).map(({ grace }) => grace));
}

/** What was paid next after the first price that was not nothing, unless that was paid back before. */
function secondOf(payments: readonly Payment[]) {
	const place = payments.findIndex((payment) => payment.pence > 0);
	const [first, second] = [payments[place], payments[place + 1]];
	if (!first || !second || first.backAtMs <= second.atMs) return [];
	return [{ first: first.pence, pence: second.pence, gap: (second.atMs - first.atMs) / dayMs }];
}

/** Whether nearly all who paid this price first, and again, paid for a longer plan next, and much more. */
function isTrialPrice(
	pence: number,
	all: readonly (readonly Payment[])[],
	daysOf: (price: number) => number,
) {
	const next = all.flatMap((payments) => secondOf(payments).filter(({ first }) => first === pence));
	const switched = next.filter((one) => one.pence >= 1.8 * pence && one.gap * 1.45 <= daysOf(one.pence));
	return next.length >= 3 && switched.length >= 0.9 * next.length;
}

/** Tells how long the payments of each subscription of a log last, and which were a trial. */
export function lastingIn(log: Log, asked: Asked): (one: Subscription) => TriedPayments {
	const all = readLog(log, asked).subscriptions.map((one) => ({
		evt: one.first.evt,
		payments: paymentsOf(one),
		votes: votesOf(paymentsOf(one), asked.asOfMs),
	}));
	const votesOfAll = all.flatMap(({ votes }) => votes);
	const found = new Map<string, number[] | undefined>();
	/** Looked for once for each price. */
	const once = (name: string, look: () => number[] | undefined) => {
		if (!found.has(name)) found.set(name, look());
		return found.get(name);
	};
	/** Whether nearly all with an `evt` who paid a price first, and paid again, paid much more next. */
	const isFirstPriceOf = (evt: string) => (price: number) => {
		const next = all
			.filter((other) => other.evt === evt)
			.flatMap(({ payments }) => secondOf(payments).filter(({ first }) => first === price));
		const dearer = next.filter(({ pence }) => pence >= 1.8 * price);
		return next.length >= 3 && dearer.length >= 0.9 * next.length;
	};
	/** Of an `evt`: what those with it tell of a price, or, where they tell nothing, what all do. */
	const knownOf = (evt: string) => {
		const alike = all.filter((other) => other.evt === evt).flatMap(({ votes }) => votes);
		const isKnown = paidModes(alike).length > 0;
		const peers = isKnown ? alike : votesOfAll;
		const ofThePrice = (pence: number): number[] => {
			const look = () => {
				const same = ofPrice(peers, pence, 0);
				return same.length > 0
					? same
					: inProportion(peers, pence, isKnown ? isFirstPriceOf(evt) : () => false);
			};
			return once(`${evt} ${pence}`, look) ?? [];
		};
		return { alike, isKnown, ofThePrice };
	};
	const daysOf = (evt: string, payments: readonly Payment[], untilMs: number): (number | null)[] => {
		const set = asked.period[evt];
		if (set !== undefined) return payments.map(() => (set === 'never' ? null : set));
		const { alike, isKnown, ofThePrice } = knownOf(evt);
		const plans = plansOf(payments);
		return payments.map((payment, place) => {
			const plan = plans.find((each) => each.includes(payment)) as Payment[];
			const gaps = gapsOf(plan, payments);
			if (gaps.length > 1) {
				const { pence } = plan.at(-1) as Payment;
				return ownOf(gaps, ofThePrice(pence));
			}
			const { pence } = payment;
			const silentDays = ((payments[place + 1]?.atMs ?? untilMs) - payment.atMs) / dayMs;
			const isOfPrice = isKnown && ofPrice(alike, pence, 0).length > 0;
			const ways = [
				isOfPrice ? ofThePrice(pence) : [],
				ofThePrice(pence),
				once(`${evt} all`, () => paidModes(alike)),
				once('all', () => paidModes(votesOfAll)),
			];
			const [gap] = gaps;
			const told = ways.find(
				(modes = [], way) =>
					modes.length > 0 && (way === 0 || gap === undefined || modes.some((days) => isAlike(gap, days))),
			);
			return told ? choose(told, gap, silentDays) : gap === undefined ? null : wholeDays(gap);
		});
	};
	/** Prices of trials are learned from those with the same `evt` alone. */
	const isOfTrial = (evt: string, pence: number) => {
		const own = all.filter((other) => other.evt === evt);
		const votes = own.flatMap((other) => other.votes);
		const longest = (price: number) => ofPrice(votes, price, 0).at(-1) ?? 0;
		const look = () =>
			isTrialPrice(
				pence,
				own.map(({ payments }) => payments),
				longest,
			)
				? [1]
				: [];
		return pence === 0 || once(`${evt} ${pence} tried`, look)?.length === 1;
	};
	const learned = new Map<
		string,
		{
			readonly graceOf: (days: number) => number;
			readonly billingFor: (days: number) => ReturnType<typeof billingOf>;
		}
	>();
	/** How late payments with an `evt` may come, and whether they keep their day. */
	const learnedOf = (evt: string) => {
		const before = learned.get(evt);
		if (before) return before;
		const own = all.filter((other) => other.evt === evt);
		const votes = own.flatMap((other) => other.votes);
		const plans = repeatedPlans(
			own.map(({ payments }) => payments),
			(price) => {
				const look = () => {
					const same = ofPrice(votes, price, 0);
					return same.length > 0 ? same : (inProportion(votes, price, isFirstPriceOf(evt)) ?? []);
				};
				return once(`${evt} ${price} own`, look) ?? [];
			},
		);
		const billings = new Map<number, ReturnType<typeof billingOf>>();
		const billingFor = (days: number) => billings.getOrInsertComputed(days, () => billingOf(plans, days));
		const found = { graceOf: gracesOf(plans), billingFor };
		learned.set(evt, found);
		return found;
	};
	const known = new Map<string, TriedPayments>();
	return (one) => {
		const { subid, evt } = one.first;
		const before = known.get(subid);
		if (before) return before;
		const payments = paymentsOf(one);
		const begun = payments.findIndex(({ pence }) => !isOfTrial(evt, pence));
		const within = (payment: Payment, days: number | null, since?: BillingDay) => {
			if (days === null) return lasting(payment, null, 0, { fromMs: 0, times: 0, isOfCalendar: false });
			const { graceOf, billingFor } = learnedOf(evt);
			const { isOfCalendar } = billingFor(days);
			const grace = asked.graceDays[evt] ?? graceOf(days);
			return lasting(payment, days, grace, since ?? { fromMs: payment.atMs, times: 1, isOfCalendar });
		};
		const lastingOf = (some: readonly Payment[]) => {
			const all = daysOf(evt, some, asked.asOfMs);
			const told: Lasting[] = [];
			let since: BillingDay | undefined;
			for (const [place, payment] of some.entries()) {
				const { atMs } = payment;
				const days = all[place] ?? null;
				const before = told.at(-1);
				const { isOfCalendar, keepsDay } = learnedOf(evt).billingFor(days ?? 0);
				const isNext =
					keepsDay &&
					before !== undefined &&
					since?.days === days &&
					atMs <= before.lapseMs &&
					atMs >= before.dueMs - ((days ?? 0) / 2) * dayMs &&
					(isOfCalendar || Math.abs(atMs - before.dueMs) > 1.5 * dayMs);
				if (days === null) since = undefined;
				else if (isNext && since) since = { ...since, times: since.times + 1 };
				else since = { fromMs: atMs, days, times: 1, isOfCalendar };
				told.push(within(payment, days, since));
			}
			return told;
		};
		const withoutUnused = (some: readonly Payment[]): Payment[] => {
			const days = daysOf(evt, some, asked.asOfMs);
			return some.map((payment, place) => {
				const { partAtMs, partPence = 0, pence, atMs, backAtMs } = payment;
				const lasts = days[place] ?? null;
				if (partAtMs === undefined || lasts === null || backAtMs < Number.POSITIVE_INFINITY) return payment;
				const left = 1 - (partAtMs - atMs) / (lasts * dayMs);
				const months = [2, 3, 4, 6, 12, 24].find((each) => wholeDays(lasts) === each * month);
				const near = [Math.abs(partPence / pence - left) <= 0.04];
				if (months) near.push(Math.abs(partPence / pence - Math.floor(left * months) / months) <= 0.02);
				const isUnused = partPence / pence >= 0.1 && left >= 0.1 && near.includes(true);
				return isUnused ? { ...payment, backAtMs: partAtMs } : payment;
			});
		};
		const first = begun === 0 ? undefined : payments[0];
		const longest = (payment: Payment) => daysOf(evt, [payment], Number.POSITIVE_INFINITY)[0] ?? null;
		const triedDays = first ? longest(first) : null;
		const told: TriedPayments = {
			payments: begun < 0 ? [] : lastingOf(withoutUnused(payments.slice(begun))),
			triedAtMs: first?.atMs ?? null,
			triedPence: first?.pence ?? 0,
			decidedAtMs: first ? within(first, triedDays).lapseMs : 0,
			trialCancelledAtMs:
				payments.slice(0, begun < 0 ? payments.length : begun).at(-1)?.cancelledAtMs ??
				Number.POSITIVE_INFINITY,
			soldDays: begun < 0 ? null : longest(payments[begun] as Payment),
		};
		known.set(subid, told);
		return told;
	};
}
