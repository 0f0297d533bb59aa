import {
	type Billing,
	type CadenceTable,
	calendarMonthsOf,
	dueAfter,
	fourWeeksDays,
	graceDays,
	isAbout,
	isWithin,
	likelyDays,
	maxGraceDays,
	medianOf,
	monthDays,
	multipleTolerance,
	otherPlan,
	ownDays,
	type Paid,
	type Payment,
	type PricePlan,
	plansOf,
	sameCadence,
	type ToldModes,
	tellingDays,
	usualDays,
	weeksOf,
	wholeDays,
} from '../../core/domain/subscription-cadence.ts';
import { dayMs } from '../../core/durations.ts';

/** A group has a second or third cadence if so many subscriptions, and this share of them, have it. */
const minVotes = 3;
const minShare = 0.1;
const maxModes = 3;
/** A longer grace is learned from at least so many payments that came later than it, if they are this share of all renewals. */
const minLate = 5;
const minLateShare = 0.01;
const nearlyAll = 0.95;
/** A price is that of a trial if so large a share of those who pay again pay for a longer plan next. */
const minSwitched = 0.9;
/** What is paid less for so long at first is no trial. */
const minFirstDays = 28;
/** With at least so many chances to renew, a cadence at which fewer than this share renewed is none. */
const fewChances = 10;
const minRenewed = 0.05;
/** Payments come on the same day of the month if they are so near to it. */
const onDayDays = 0.25;
/** What plans are mostly sold for. */
const soldMonths = [1, 3, 6, 12, 24];
const maxTabledPrices = 200;
const maxTabledEvts = 100;
/** In steps of a tenth. */
const nearSteps = 4;

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

/** Whether a payment is late by about so many cadences: one before it is missing. */
function isMissed(lateDays: number, days: number): boolean {
	const times = Math.round(lateDays / days);
	return times > 0 && Math.abs(lateDays - times * days) <= multipleTolerance * days;
}

/** A plan that was paid more than once. */
interface PaidPlan {
	readonly plan: PricePlan;
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

	addPlan(plan: PricePlan, days: number, payments: readonly Payment[]): void {
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
	add(days: number, { pricesPence, gapsDays }: PricePlan, weeks: number | undefined): void {
		const ofPrices = [...pricesPence].map((price) => this.#votesFor(price));
		// How long something is free tells nothing of how often it is paid.
		for (const votes of pricesPence.has(0) ? ofPrices : [this.all, ...ofPrices])
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
	ofPrice(pricePence: number): ToldModes {
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
