import type { Log } from '../store/stored-log.ts';
import { type Asked, dayMs, type Payment, paymentsOf, readLog, type Subscription } from './journeys.ts';

/**
 * How long each payment of each subscription lasts, by `docs/reports.md` and without anything of `src/`: what was learned from the
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
}

/** What a subscription tells about the cadence of its plan: how often it paid, or how long it has not paid again. */
interface Vote {
	readonly days: number | null;
	readonly silentDays: number;
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

function votesOf(payments: readonly Payment[], asOfMs: number): Vote[] {
	return plansOf(payments).flatMap((plan): Vote[] => {
		const gaps = gapsOf(plan, payments);
		const last = plan.at(-1) as Payment;
		const silentDays = (asOfMs - last.atMs) / dayMs;
		if (gaps.length > 0)
			return [{ days: usualOf(gaps), silentDays, prices: [...new Set(plan.map(({ pence }) => pence))] }];
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
function inProportion(votes: readonly Vote[], pence: number): number[] | undefined {
	const lower = new Set(votes.flatMap(({ prices }) => prices).filter((price) => price > 0 && price < pence));
	for (const price of [...lower].sort((a, b) => b - a)) {
		const longest = knownModes(
			votes.filter(({ prices }) => prices.includes(price)),
			0,
		).at(-1);
		if (longest === undefined) continue;
		if (isOnePlan(price, pence)) return [longest];
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
		.sort((a, b) => b.score - a.score || a.days - b.days);
	if (best && best.score > 0) return best.days;
	return modes.findLast((days) => days < gap) ?? (modes[0] as number);
}

const later = (a: Until, b: Until) => (b.dueMs >= a.dueMs ? b : a);
const never: Until = { dueMs: Number.NEGATIVE_INFINITY, lapseMs: Number.NEGATIVE_INFINITY };

/** Of payments, when the last of them is over. */
export function latestOf(some: readonly Until[]): Until {
	return some.reduce(later, never);
}

function lasting({ atMs, pence, backAtMs }: Payment, days: number | null, grace: number): Lasting {
	const after = (ms: number, length: number) => Math.round(ms + length * dayMs);
	const dueMs = days === null ? Number.POSITIVE_INFINITY : after(atMs, days);
	const lapseMs = days === null ? Number.POSITIVE_INFINITY : after(dueMs, grace);
	const kept = backAtMs < dueMs ? { dueMs: backAtMs, lapseMs: backAtMs } : { dueMs, lapseMs };
	return { atMs, pence, days, dueMs, lapseMs, kept, isPaidBack: Number.isFinite(backAtMs) };
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
	/** How long its first payment lasts by its price alone, if no other comes. */
	readonly soldDays: number | null;
}

/** Within how many days those of an `evt` are paid that are paid late, by how often they are paid. */
function gracesOf(
	all: readonly (readonly Payment[])[],
	modesFor: (price: number) => readonly number[],
): (days: number) => number {
	const gaps = all.flatMap((payments) =>
		plansOf(payments).flatMap((plan) => {
			const own = gapsOf(plan, payments);
			if (own.length === 0) return [];
			const [usual, modes] = [usualOf(own), modesFor((plan.at(-1) as Payment).pence)];
			const alike = modes.find((mode) => isAlike(mode, usual)) ?? wholeDays(usual);
			const days = own.length === 1 && modes.length > 0 ? choose(modes, usual, 0) : alike;
			return own.map((gap) => ({ days, late: gap - days }));
		}),
	);
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

/** Whether nearly all who paid this price first, and again, paid for a longer plan next, and much more. */
function isTrialPrice(
	pence: number,
	all: readonly (readonly Payment[])[],
	daysOf: (price: number) => number,
) {
	const next = all.flatMap((payments) => {
		const place = payments.findIndex((payment) => payment.pence > 0);
		const [first, second] = [payments[place], payments[place + 1]];
		if (!first || !second || first.pence !== pence || first.backAtMs <= second.atMs) return [];
		return [{ pence: second.pence, gap: (second.atMs - first.atMs) / dayMs }];
	});
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
	/** Of an `evt`: what those with it tell of a price, or, where they tell nothing, what all do. */
	const knownOf = (evt: string) => {
		const alike = all.filter((other) => other.evt === evt).flatMap(({ votes }) => votes);
		const isKnown = knownModes(alike, 0).length > 0;
		const peers = isKnown ? alike : votesOfAll;
		const ofThePrice = (pence: number): number[] => {
			const look = () => {
				const same = ofPrice(peers, pence, 0);
				return same.length > 0 ? same : inProportion(peers, pence);
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
				const usual = usualOf(gaps);
				// Twenty alike tell more than what others have.
				if (gaps.filter((gap) => isAlike(gap, usual)).length >= 20) return wholeDays(usual);
				const { pence } = plan.at(-1) as Payment;
				return ofThePrice(pence).find((days) => isAlike(days, usual)) ?? wholeDays(usual);
			}
			const { pence } = payment;
			const silentDays = ((payments[place + 1]?.atMs ?? untilMs) - payment.atMs) / dayMs;
			const isOfPrice = isKnown && ofPrice(alike, pence, 0).length > 0;
			const ways = [
				isOfPrice ? ofThePrice(pence) : [],
				ofThePrice(pence),
				once(`${evt} all`, () => knownModes(alike, 0)),
				once('all', () => knownModes(votesOfAll, 0)),
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
		const longest = (price: number) => {
			const same = ofPrice(votes, price, 0);
			return (same.length > 0 ? same : (inProportion(votes, price) ?? [])).at(-1) ?? 0;
		};
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
	const graces = new Map<string, (days: number) => number>();
	const graceIn = (evt: string) => {
		const own = all.filter((other) => other.evt === evt);
		const votes = own.flatMap((other) => other.votes);
		const found =
			graces.get(evt) ??
			gracesOf(
				own.map(({ payments }) => payments),
				(price) => {
					const look = () => {
						const same = ofPrice(votes, price, 0);
						return same.length > 0 ? same : (inProportion(votes, price) ?? []);
					};
					return once(`${evt} ${price} own`, look) ?? [];
				},
			);
		graces.set(evt, found);
		return found;
	};
	const known = new Map<string, TriedPayments>();
	return (one) => {
		const { subid, evt } = one.first;
		const before = known.get(subid);
		if (before) return before;
		const payments = paymentsOf(one);
		const begun = payments.findIndex(({ pence }) => !isOfTrial(evt, pence));
		const within = (payment: Payment, days: number | null) =>
			lasting(payment, days, days === null ? 0 : graceIn(evt)(days));
		const lastingOf = (some: readonly Payment[]) => {
			const days = daysOf(evt, some, asked.asOfMs);
			return some.map((payment, place) => within(payment, days[place] ?? null));
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
			soldDays: begun < 0 ? null : longest(payments[begun] as Payment),
		};
		known.set(subid, told);
		return told;
	};
}
