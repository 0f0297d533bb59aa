import type { Log } from '../core/store/stored-log.ts';
import { About } from './alike.ts';
import { type Lasting, lastingIn, latestOf, overAt, type TriedPayments } from './cadence-sums.ts';
import { begunIn, groupOf } from './cohort-sums.ts';
import {
	type Asked,
	countedIn,
	dayMs,
	type Figures,
	isIn,
	monthOf,
	monthsBetween,
	ratio,
	readLog,
	type Subscription,
	spansFrom,
	sum,
} from './journeys.ts';
import { isNobody } from './model.ts';

/** The same as `cohort-sums.ts` for reports on subscriptions. */

/** A time in which a subscription was there, with what was paid in it. */
interface Spell {
	/** Also changes of the plan within the time of one. */
	readonly payments: Lasting[];
	endsAtMs: number;
	/** How many payments there were until its end. */
	before: number;
	/** Whether somebody wanted that. */
	isByWill: boolean;
}

const monthDays = 365.25 / 12;

/** The whole months of a cadence. */
const wholeMonths = (days: number) =>
	[28, 56, 84].some((weeks) => Math.abs(days - weeks) < 0.5)
		? undefined
		: [1, 2, 3, 4, 6, 12, 24].find((each) => Math.abs(days / monthDays / each - 1) <= 0.1);

/** What tells a plan from others of the same `evt`. */
export function planOf(days: number | null): string {
	const months = days === null ? undefined : wholeMonths(days);
	return months === undefined ? `${days === null ? 'unknown' : Math.round(days)} days` : `${months} months`;
}

/** @param atWorst nobody renews who is due and may */
function spellsOf(payments: readonly Lasting[], { asOfMs }: Asked, atWorst = false): Spell[] {
	const spells: Spell[] = [];
	for (const [place, payment] of payments.entries()) {
		if (payment.atMs > overAt(payments.slice(0, place)).lapseMs)
			spells.push({ payments: [], endsAtMs: 0, before: 0, isByWill: false });
		const spell = spells.at(-1) as Spell;
		spell.payments.push(payment);
		spell.before = place + 1;
		const { raise } = payment;
		// A dearer plan, from within the time of this payment on.
		if (raise && raise.atMs < payment.dueMs && worth({ ...payment, ...raise }) > worth(payment))
			spell.payments.push({ ...payment, ...raise });
	}
	for (const [place, spell] of spells.entries()) {
		const end = overAt(payments.slice(0, spell.before), 'kept');
		const isKnown = place + 1 < spells.length || (atWorst ? end.dueMs : end.lapseMs) <= asOfMs;
		spell.endsAtMs = isKnown ? end.dueMs : Number.POSITIVE_INFINITY;
		spell.isByWill = isKnown && end.isByWill;
	}
	return spells;
}

/** Per month. */
function worth({ pence, days }: Lasting): number {
	return days === null ? 0 : Math.round(pence / (wholeMonths(days) ?? days / monthDays));
}

/** When payments came more than a day after what was paid was over, and still in time. */
function recoveriesOf(payments: readonly Lasting[]): number[] {
	return payments.flatMap(({ atMs }, place) => {
		const before = overAt(payments.slice(0, place));
		return place > 0 && atMs <= before.lapseMs && atMs > before.dueMs + dayMs ? [atMs] : [];
	});
}

/** The pence at a moment; null if it is not there. */
function standingAt(spells: readonly Spell[], ms: number) {
	const spell = spells.find(({ payments, endsAtMs }) => (payments[0] as Lasting).atMs < ms && endsAtMs >= ms);
	const last = spell?.payments.findLast(({ atMs }) => atMs < ms);
	return last ? worth(last) : null;
}

/** What happened to the recurring pence of a subscription. */
function changesOf(spells: readonly Spell[]) {
	const changes: { kind: string; atMs: number; pence: number }[] = [];
	for (const [nth, { payments, endsAtMs, isByWill }] of spells.entries()) {
		let before = 0;
		for (const [place, payment] of payments.entries()) {
			const { atMs } = payment;
			const now = worth(payment);
			const change = now > before ? 'expansion' : 'contraction';
			const kind = place > 0 ? change : nth === 0 ? 'new' : 'reactivated';
			changes.push({ kind, atMs, pence: Math.abs(now - before) });
			before = now;
		}
		changes.push({ kind: 'ended', atMs: endsAtMs, pence: before });
		changes.push({ kind: isByWill ? 'cancelled' : 'lapsed', atMs: endsAtMs, pence: before });
	}
	return changes;
}

function chosen(log: Log, asked: Asked): Subscription[] {
	return countedIn(readLog(log, asked).subscriptions, asked).map(({ subscription }) => subscription);
}

/** The moments at which months begin, from that of a moment on. */
function startsOf(fromMs: number, untilMs: number, timezone: string): number[] {
	const starts: number[] = [];
	let day = Temporal.Instant.fromEpochMilliseconds(fromMs)
		.toZonedDateTimeISO(timezone)
		.toPlainDate()
		.with({ day: 1 });
	for (; starts.length < 2 || (starts.at(-1) as number) <= untilMs; day = day.add({ months: 1 }))
		starts.push(day.toZonedDateTime(timezone).epochMilliseconds);
	return starts;
}

/** How many payments are over, which were renewed, and how often one that was not could have been since. */
function timesOf(payments: readonly Lasting[], { asOfMs }: Asked) {
	const isOver = ({ lapseMs }: Lasting) => lapseMs <= asOfMs;
	const firstOpen = payments.findIndex((payment) => !isOver(payment));
	const over = firstOpen < 0 ? payments.length : firstOpen;
	const { atMs, days, ...last } = payments.at(-1) as Lasting;
	const lapsedDays = days === null ? 0 : (asOfMs - atMs) / dayMs - days - (last.lapseMs - last.dueMs) / dayMs;
	const since = days !== null && last.lapseMs <= asOfMs ? Math.max(0, Math.floor(lapsedDays / days)) : 0;
	const isRenewed = payments.map((payment, place) => isOver(payment) && place + 1 < payments.length);
	return { over, since, isRenewed, known: payments.filter(isOver).length };
}

/** When the nth payment after one is due. */
function dueAfter(atMs: number, days: number, n: number): number {
	const months = wholeMonths(days);
	if (months === undefined) return atMs + n * days * dayMs;
	return Temporal.Instant.fromEpochMilliseconds(atMs)
		.toZonedDateTimeISO('UTC')
		.add({ months: n * months }).epochMilliseconds;
}

/** What the dues of one plan were. @param own the payments of each of its subscriptions */
function duesOf(own: readonly (readonly Lasting[])[], asOfMs: number) {
	const over = own.flatMap((payments) =>
		payments
			.map((payment, place) => ({ payment, next: payments[place + 1], days: payments.at(-1)?.days ?? null }))
			.filter(({ payment }) => payment.lapseMs <= asOfMs),
	);
	const lateMsOf = ({ payment, next, days }: (typeof over)[number]) =>
		next ? [days === null ? 0 : next.atMs - dueAfter(payment.atMs, days, 1)] : [];
	const hasCancelled = ({ payment: { atMs, cancelledAtMs }, days }: (typeof over)[number], lateMs: number) =>
		Number.isFinite(cancelledAtMs) && (days === null ? 0 : cancelledAtMs - dueAfter(atMs, days, 1)) <= lateMs;
	const renewedLateMs = over.flatMap(lateMsOf);
	const silentDays = Math.max(
		0,
		...own
			.filter((payments) => payments.at(-1)?.days === null)
			.map((payments) => (asOfMs - (payments.at(-1) as Lasting).atMs) / dayMs),
	);
	const isOverAfter = (months: number) =>
		silentDays >= months * monthDays + Math.min(30, (months * monthDays) / 2);
	const months = [1, 3, 6, 12, 24].find((each) => !isOverAfter(each));
	const isKnown = over.some(({ payment }) => !payment.isPaidBack);
	/** @param besides how many count as having been due, too, and which share of them as renewed */
	const rateOf = ({ due, renewed }: Counted, besides = [4, isKnown || !isOverAfter(1) ? 0.8 : 0.4]) => {
		const [dues = 0, share = 0] = besides;
		const middle = (renewed + share * dues) / (due + dues);
		if (!isKnown || due === 0) return { low: 0, middle, high: 1 };
		const [low, high] = wilson(renewed / due, due).map(
			(bound) => Math.round(Math.min(1, Math.max(0, bound)) * 10_000) / 10_000,
		) as [number, number];
		return { low: Math.min(low, middle), middle, high: Math.max(high, middle) };
	};
	const followed = own.flatMap((payments) =>
		payments.flatMap(({ pence }, place) => {
			const next = payments[place + 1];
			return next ? [{ pence, next }] : [];
		}),
	);
	return {
		/** Another price, if that is what the latest five paid who had paid this one. */
		nextPence: (price: number) => {
			const latest = followed
				.flatMap(({ pence, next }) => (pence === price ? [next] : []))
				.sort((a, b) => b.atMs - a.atMs || b.pence - a.pence)
				.slice(0, 5)
				.map(({ pence }) => pence);
			return latest.length === 5 && new Set(latest).size === 1 ? (latest[0] as number) : price;
		},
		assumedDays: months === undefined ? null : months * monthDays,
		cameUntil: (lateMs: number) => {
			if (renewedLateMs.length === 0) return lateMs >= 0 ? 1 : 0;
			return renewedLateMs.filter((each) => each <= lateMs).length / renewedLateMs.length;
		},
		/** Those that had neither been renewed nor cancelled after so long, or so long before, of payments that were paid back or not. */
		asLate: (lateMs: number, isPaidBack: boolean): Counted => {
			const some = over.filter((due) => {
				if (due.payment.isPaidBack !== isPaidBack) return false;
				const hasCome = lateMsOf(due).some((each) => each <= lateMs);
				return !hasCome && !hasCancelled(due, lateMs);
			});
			return { due: some.length, renewed: some.filter(({ next }) => next).length };
		},
		rateOf,
		all: rateOf({ due: over.length, renewed: over.filter(({ next }) => next).length }),
	};
}

interface Counted {
	readonly due: number;
	readonly renewed: number;
}

/** How likely one is renewed that is due and may be, by what became of the dues of some subscriptions. */
function renewalChances(
	paid: readonly Subscription[],
	lastingOf: (one: Subscription) => readonly Lasting[],
	asOfMs: number,
): (one: Subscription) => number {
	const nameOf = (one: Subscription) => `${planOf(lastingOf(one).at(-1)?.days ?? null)} ${one.first.evt}`;
	const dues = new Map(
		[...Map.groupBy(paid, nameOf)].map(([plan, own]) => [plan, duesOf(own.map(lastingOf), asOfMs)]),
	);
	return (one) => {
		const plan = dues.get(nameOf(one)) as ReturnType<typeof duesOf>;
		const last = lastingOf(one).at(-1) as Lasting;
		const days = last.days ?? plan.assumedDays;
		const lateMs = days === null ? 0 : asOfMs - dueAfter(last.atMs, days, 1);
		const own = plan.asLate(lateMs, last.isPaidBack);
		if (lateMs <= 0) return plan.rateOf(own).middle;
		// Those of all plans together count as ten.
		const alike = [...dues.values()].map((each) => each.asLate(lateMs, last.isPaidBack));
		const [due, renewed] = [sum(alike.map((all) => all.due)), sum(alike.map((all) => all.renewed))];
		return (own.renewed + (10 * (renewed + 0.5)) / (due + 1)) / (own.due + 10);
	};
}

/** What is expected to be paid in a year, with its bounds, for each month and group. */
export function projections(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const triedOf = lastingIn(log, asked);
	const lastingOf = (one: Subscription) => triedOf(one).payments;
	const begunAtMs = (one: Subscription) => lastingOf(one)[0]?.atMs as number;
	const acquired = new Set(begunIn(log, asked).map(({ first }) => first.tid));
	const paid = chosen(log, asked).filter((one) => lastingOf(one).length > 0);
	const nameOf = (one: Subscription) => `${planOf(lastingOf(one).at(-1)?.days ?? null)} ${one.first.evt}`;
	const endMs = asked.asOfMs + 365 * dayMs;
	const bounds = ['low', 'middle', 'high'] as const;
	for (const [group, all] of Map.groupBy(paid, (one) =>
		groupOf(one, asked, lastingOf(one)[0]?.pence as number),
	)) {
		const dues = new Map(
			[...Map.groupBy(all, nameOf)].map(([plan, own]) => [plan, duesOf(own.map(lastingOf), asked.asOfMs)]),
		);
		const own = all.filter(({ first }) => acquired.has(first.tid));
		for (const [month, some] of Map.groupBy(own, (one) => monthOf(begunAtMs(one), asked))) {
			let [variance, most] = [0, 0];
			const sums = new Map<string, Record<(typeof bounds)[number], number>>();
			for (const one of some) {
				const payments = lastingOf(one);
				const last = payments.at(-1) as Lasting;
				const kept = latestOf(payments.map((payment) => payment.kept));
				if (Number.isFinite(last.cancelledAtMs) && last.cancelledAtMs <= kept.lapseMs) continue;
				if ((kept.lapseMs > asked.asOfMs ? kept : overAt(payments)).lapseMs <= asked.asOfMs) continue;
				if (asked.period[one.first.evt] === 'never') continue;
				const plan = dues.get(nameOf(one)) as ReturnType<typeof duesOf>;
				const days = last.days ?? plan.assumedDays;
				if (days === null || last.pence === 0) continue;
				const lateMs = asked.asOfMs - dueAfter(last.atMs, days, 1);
				// Whoever is late next time will not have paid more than a day early.
				const [early, ahead] = [lateMs, Math.min(lateMs, -dayMs)].map(plan.cameUntil) as [number, number];
				const inTime: number[] = [];
				for (;;) {
					const chance = plan.cameUntil(endMs - dueAfter(last.atMs, days, inTime.length + 1));
					if (chance === 0) break;
					const before = inTime.length > 0 ? ahead : early;
					inTime.push(before === 1 ? 0 : Math.max(0, chance - before) / (1 - before));
				}
				if (inTime.length === 0) continue;
				const price = plan.nextPence(last.pence);
				most += price * inTime.length;
				const sum = sums.getOrInsertComputed(nameOf(one), () => ({ low: 0, middle: 0, high: 0 }));
				const alike = [...dues.values()].map((each) => each.asLate(lateMs, last.isPaidBack));
				const share =
					(0.5 + alike.reduce((total, { renewed }) => total + renewed, 0)) /
					(1 + alike.reduce((total, { due }) => total + due, 0));
				const first = plan.rateOf(plan.asLate(lateMs, last.isPaidBack), lateMs > 0 ? [10, share] : undefined);
				for (const bound of bounds) {
					let [mean, square] = [0, 0];
					for (const [nth, comes] of inTime.entries()) {
						const chance = first[bound] * plan.all[bound] ** nth * comes;
						mean += chance;
						square += chance * ((nth + 1) ** 2 - nth ** 2);
					}
					sum[bound] += price * mean;
					if (bound === 'middle') variance += price ** 2 * (square - mean ** 2);
				}
			}
			const chance = 1.96 * Math.sqrt(Math.max(0, variance));
			const middle = sum([...sums.values()].map((each) => each.middle));
			const below = Math.hypot(chance, ...[...sums.values()].map((each) => each.middle - each.low));
			const above = Math.hypot(chance, ...[...sums.values()].map((each) => each.high - each.middle));
			figures.set(`${month} ${group}: projected`, new About(middle, 0.501));
			figures.set(`${month} ${group}: projected low`, new About(Math.max(0, middle - below), 0.501));
			figures.set(`${month} ${group}: projected high`, new About(Math.min(most, middle + above), 0.501));
		}
	}
	return figures;
}

/** When the customers of subscriptions were there, with the subscription that each began with. */
function customersOf(
	log: Log,
	all: readonly Subscription[],
	lastingOf: (one: Subscription) => readonly Lasting[],
	asked: Asked,
	atWorst = false,
) {
	const cids = new Map<string, string>();
	for (const { subid, cid, atMs } of log.events)
		if (
			cid !== null &&
			atMs <= asked.asOfMs &&
			!isNobody(cid) &&
			!log.shared.has(`c:${cid}`) &&
			!cids.has(subid)
		)
			cids.set(subid, cid);
	const nameOf = ({ first: { subid }, owner }: Subscription) => {
		const cid = cids.get(subid);
		return cid !== undefined ? `cid ${cid}` : owner === null ? `subid ${subid}` : `visitor ${owner}`;
	};
	const paid = all.filter((one) => lastingOf(one).length > 0);
	return [...Map.groupBy(paid, nameOf).values()].map((own) => {
		const beganMs = (one: Subscription) => (lastingOf(one)[0] as Lasting).atMs;
		const sorted = own.toSorted(
			(a, b) => beganMs(a) - beganMs(b) || (a.first.subid < b.first.subid ? -1 : 1),
		);
		const times = own.flatMap((one) => {
			const spells = spellsOf(lastingOf(one), asked, atWorst);
			return spells.map(({ payments, endsAtMs, isByWill }, nth) => ({
				fromMs: (payments[0] as Lasting).atMs,
				toMs: endsAtMs,
				isByWill,
				// Who goes on while the last one could still be renewed has not left.
				holdsMs: nth + 1 < spells.length ? endsAtMs : overAt(lastingOf(one)).lapseMs,
			}));
		});
		const together: { fromMs: number; toMs: number; holdsMs: number; isByWill: boolean }[] = [];
		for (const time of times.sort((a, b) => a.fromMs - b.fromMs)) {
			const last = together.at(-1);
			if (!last || time.fromMs > Math.max(last.toMs, last.holdsMs)) together.push({ ...time });
			else if (time.toMs > last.toMs) {
				const { toMs, holdsMs, isByWill } = time;
				Object.assign(last, { toMs, holdsMs, isByWill });
			} else if (time.toMs === last.toMs) {
				last.holdsMs = Math.max(last.holdsMs, time.holdsMs);
				last.isByWill ||= time.isByWill;
			}
		}
		const spellsOfOwn = own.map((one) => spellsOf(lastingOf(one), asked, atWorst));
		/** What is paid by all together; who goes on later has paid the same until then. */
		const payingAt = (ms: number): number | null => {
			if (!together.some(({ fromMs, toMs }) => fromMs < ms && toMs >= ms)) return null;
			const pence = spellsOfOwn.map((spells) => standingAt(spells, ms));
			if (pence.some((each) => each !== null)) return sum(pence.map((each) => each ?? 0));
			const ends = times.map(({ toMs }) => toMs).filter((toMs) => toMs < ms);
			return payingAt(Math.max(...ends));
		};
		return { began: sorted[0] as Subscription, own, together, payingAt };
	});
}

/** What is paid for at a moment, by what was known then, by `subid`. */
function standingsAt(log: Log, asked: Asked, asOfMs: number) {
	const then = { ...asked, asOfMs };
	const triedOf = lastingIn(log, then);
	return new Map(
		chosen(log, then)
			.map((one) => ({ one, payments: triedOf(one).payments }))
			.filter(({ payments }) => payments.length > 0)
			.map(({ one, payments }) => {
				const last = spellsOf(payments, then).at(-1) as Spell;
				const end = overAt(payments, 'kept');
				const isThere = last.endsAtMs === Number.POSITIVE_INFINITY;
				const standing = {
					isThere,
					isPastDue: isThere && end.dueMs <= asOfMs,
					isCancelled: isThere && end.isByWill && end.dueMs > asOfMs,
					isByWill: last.isByWill,
					isUnknown: (payments.at(-1) as Lasting).days === null && asked.period[one.first.evt] !== 'never',
					pence: isThere ? (standingAt([last], asOfMs + 1) ?? 0) : 0,
				};
				return [one.first.subid, standing] as const;
			}),
	);
}

export function summary(log: Log, asked: Asked): Figures {
	const moments = [0, 7, 14].map((days) =>
		Temporal.Instant.fromEpochMilliseconds(asked.asOfMs)
			.toZonedDateTimeISO(asked.timezone)
			.subtract({ days }),
	);
	const standings = moments.map(({ epochMilliseconds }) => standingsAt(log, asked, epochMilliseconds));
	const rows = [0, 1].map((week) => {
		const [now, before] = [standings[week], standings[week + 1]] as [
			ReturnType<typeof standingsAt>,
			ReturnType<typeof standingsAt>,
		];
		const there = [...now.values()].filter(({ isThere }) => isThere);
		const left = [...now].filter(([subid, { isThere }]) => !isThere && before.get(subid)?.isThere);
		const byWill = left.filter(([, { isByWill }]) => isByWill).length;
		const isKnown = there.length === 0 || there.some(({ isUnknown }) => !isUnknown);
		const penceOf = (some: typeof there) => (isKnown ? sum(some.map(({ pence }) => pence)) : null);
		const recurring = penceOf(there);
		return {
			payingSubscriptions: there.length,
			pastDueSubscriptions: there.filter(({ isPastDue }) => isPastDue).length,
			recurringPence: recurring,
			annualRecurringPence: recurring === null ? null : recurring * 12,
			cancelledSubscriptions: there.filter(({ isCancelled }) => isCancelled).length,
			pastDuePence: penceOf(there.filter(({ isPastDue }) => isPastDue)),
			leftByWill: byWill,
			lapsed: left.length - byWill,
		} as Record<string, number | null>;
	});
	const figures: Figures = new Map();
	const [now, before] = rows as [Record<string, number | null>, Record<string, number | null>];
	for (const [place, moment] of ['now', 'a week before'].entries())
		figures.set(`${moment}: day`, String(moments[place]?.toPlainDate()));
	figures.set('change: day', null);
	for (const [name, value] of Object.entries(now)) {
		const earlier = before[name] ?? null;
		figures.set(`now: ${name}`, value);
		figures.set(`a week before: ${name}`, earlier);
		figures.set(`change: ${name}`, value === null || earlier === null ? null : value - earlier);
	}
	return figures;
}

/** What customers have paid with all their subscriptions, in the row of the first of these. */
export function customerValues(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const triedOf = lastingIn(log, asked);
	const customers = customersOf(log, chosen(log, asked), (one) => triedOf(one).payments, asked);
	const begun = begunIn(log, asked);
	const monthNow = monthOf(asked.asOfMs, asked);
	const first = begun.map(({ begunAtMs }) => monthOf(begunAtMs, asked)).sort()[0] ?? monthNow;
	for (const [name, rows] of Map.groupBy(
		begun,
		({ begunAtMs, group }) => `${monthOf(begunAtMs, asked)} ${group}`,
	)) {
		const month = name.slice(0, 7);
		const subids = new Set(rows.map((row) => row.first.subid));
		const theirs = customers.filter(({ began }) => subids.has(began.first.subid));
		const paidUntil = (age: number) =>
			sum(
				theirs.flatMap(({ own }) =>
					own.flatMap(({ events }) =>
						events
							.filter(({ atMs }) => monthsBetween(month, monthOf(atMs, asked)) <= age)
							.map(({ rvn }) => rvn),
					),
				),
			);
		const each = (pence: number) => (theirs.length === 0 ? null : new About(pence / theirs.length, 0.005_1));
		figures.set(`${name}: customers`, theirs.length);
		figures.set(`${name}: customers to date`, paidUntil(Number.POSITIVE_INFINITY));
		figures.set(`${name}: customer to date`, each(paidUntil(Number.POSITIVE_INFINITY)));
		for (let age = 0; age <= Math.min(asked.months, monthsBetween(first, monthNow)); age++)
			figures.set(
				`${name}: customer ${age}`,
				monthsBetween(month, monthNow) > age ? each(paidUntil(age)) : null,
			);
	}
	return figures;
}

export function movement(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const all = chosen(log, asked);
	const triedOf = lastingIn(log, asked);
	const lastingOf = (one: Subscription) => triedOf(one).payments;
	const firstMs = Math.min(...all.map(({ events }) => events[0]?.atMs as number));
	const spans = spansFrom(firstMs, asked.every ?? 'month', asked);
	const customers = customersOf(log, all, lastingOf, asked);
	const worstCustomers = customersOf(log, all, lastingOf, asked, true);
	const paid = all.filter((one) => lastingOf(one).length > 0);
	const chanceOf = renewalChances(paid, lastingOf, asked.asOfMs);
	const isOpen = (one: Subscription) => {
		const [known, worst] = [false, true].map((atWorst) => spellsOf(lastingOf(one), asked, atWorst).at(-1));
		return known?.endsAtMs !== worst?.endsAtMs;
	};
	for (const [name, own] of Map.groupBy(all, (one) => groupOf(one, asked, lastingOf(one)[0]?.pence ?? 0))) {
		const spells = new Map(own.map((one) => [one, spellsOf(lastingOf(one), asked)]));
		const whose = customers.filter(({ began }) => own.includes(began)).map(({ together }) => together);
		const worst = own.map((one) => spellsOf(lastingOf(one), asked, true));
		let hasBegun = asked.groups.length === 0;
		for (const { name: span, fromMs: from, toMs: to } of spans) {
			const within = (ms: number) => ms >= from && ms < to;
			const at = (ms: number) => own.map((one) => standingAt(spells.get(one) as Spell[], ms));
			const [before, after] = [at(from), at(to)];
			const atWorst = (ms: number) => worst.map((some) => standingAt(some, ms));
			const [worstBefore, worstAfter] = [atWorst(from), atWorst(to)];
			const begun = own.flatMap((one) =>
				(spells.get(one) as Spell[]).map((spell, nth) => ({ one, spell, nth })),
			);
			const started = begun.filter(({ spell }) => within((spell.payments[0] as Lasting).atMs));
			const refunds = own.flatMap(({ events }) => events.filter(({ rvn, atMs }) => rvn < 0 && within(atMs)));
			const figuresOf: Record<string, unknown> = {
				opening: before.filter((pence) => pence !== null).length,
				new: started.filter(({ nth }) => nth === 0).length,
				reactivated: started.filter(({ nth }) => nth > 0).length,
				ended: begun.filter(({ spell }) => within(spell.endsAtMs)).length,
				cancelled: begun.filter(({ spell }) => within(spell.endsAtMs) && spell.isByWill).length,
				lapsed: begun.filter(({ spell }) => within(spell.endsAtMs) && !spell.isByWill).length,
				closing: after.filter((pence) => pence !== null).length,
				recovered: own.flatMap((one) => recoveriesOf(lastingOf(one))).filter(within).length,
				openingPence: sum(before.map((pence) => pence ?? 0)),
				closingPence: sum(after.map((pence) => pence ?? 0)),
				refundPence: sum(refunds.map(({ rvn }) => rvn)),
			};
			hasBegun ||= Object.values(figuresOf).some((figure) => figure !== 0);
			if (!hasBegun) continue;
			const stayed = before.map((pence, one) => (pence === null ? 0 : (after[one] ?? 0)));
			figuresOf.churn = ratio(
				before.filter((pence, one) => pence !== null && after[one] === null).length,
				figuresOf.opening as number,
			);
			const isThere = (ms: number) =>
				whose.map((some) => some.some(({ fromMs, toMs }) => fromMs < ms && toMs >= ms));
			const [theirBefore, theirAfter] = [isThere(from), isThere(to)];
			const times = whose.flatMap((some) => some.map((time, nth) => ({ ...time, nth })));
			figuresOf.openingCustomers = theirBefore.filter((each) => each).length;
			figuresOf.reactivatedCustomers = times.filter(({ nth, fromMs }) => nth > 0 && within(fromMs)).length;
			const ended = times.filter(({ toMs: endMs }) => within(endMs)).length;
			figuresOf.endedCustomers = ended;
			figuresOf.closingCustomers = theirAfter.filter((each) => each).length;
			figuresOf.newCustomers = whose.filter(([first]) => within(first?.fromMs as number)).length;
			figuresOf.cancelledCustomers = whose
				.flat()
				.filter(({ toMs, isByWill }) => within(toMs) && isByWill).length;
			figuresOf.lapsedCustomers = ended - (figuresOf.cancelledCustomers as number);
			figuresOf.customerChurn = ratio(
				theirBefore.filter((each, one) => each && !theirAfter[one]).length,
				theirBefore.filter((each) => each).length,
			);
			const isMine = ({ began }: (typeof customers)[number]) => own.includes(began);
			const payingAt = (some: typeof customers, ms: number) =>
				some.filter(isMine).map((customer) => customer.payingAt(ms));
			const ofSubscriptions = maybeOf(
				{ known: [before, after], worst: [worstBefore, worstAfter] },
				own.map((one) => (isOpen(one) ? 1 - chanceOf(one) : 0)),
			);
			const ofCustomers = maybeOf(
				{
					known: [payingAt(customers, from), payingAt(customers, to)],
					worst: [payingAt(worstCustomers, from), payingAt(worstCustomers, to)],
				},
				customers.filter(isMine).map((customer) => {
					// All that are past due are renewed, or none.
					const lost = customer.own.filter(isOpen).map((one) => 1 - chanceOf(one));
					return lost.length === 0 ? 0 : sum(lost) / lost.length;
				}),
			);
			figuresOf.customerRetention = ofCustomers.share(({ kept }) => kept, 'pence').known;
			const due = own.filter((one) => isOpen(one) && within(overAt(lastingOf(one), 'kept').dueMs));
			const isProvisional = due.length > 0 || worstBefore.some((pence, one) => pence !== before[one]);
			const known = figuresOf.ended as number;
			const lost = sum(due.map((one) => 1 - chanceOf(one)));
			const provisional: Record<string, Maybe> = {
				ended: { low: known, likely: new About(known + lost, 0.5001), high: known + due.length },
				closing: ofSubscriptions.closing('count'),
				closingPence: ofSubscriptions.closing('pence'),
				subscriptionChurn: ofSubscriptions.share(({ lost }) => lost, 'count'),
				customerChurn: ofCustomers.share(({ lost }) => lost, 'count'),
				grossRevenueRetention: ofSubscriptions.share(({ keptAtMost }) => keptAtMost, 'pence'),
				netRevenueRetention: ofSubscriptions.share(({ kept }) => kept, 'pence'),
				customerNetRevenueRetention: ofCustomers.share(({ kept }) => kept, 'pence'),
			};
			figuresOf.pastDue = isProvisional ? due.length : null;
			figuresOf.pastDuePence = isProvisional
				? sum(due.map((one) => standingAt(spells.get(one) as Spell[], Number.MAX_VALUE) ?? 0))
				: null;
			for (const [figure, may] of Object.entries(provisional))
				for (const bound of ['low', 'likely', 'high'] as const)
					figuresOf[`${figure} ${bound}`] = isProvisional ? may[bound] : null;
			figuresOf.retention = ratio(sum(stayed), figuresOf.openingPence as number);
			const kept = before.map((pence, one) => Math.min(pence ?? 0, stayed[one] as number));
			figuresOf.grossRetention = ratio(sum(kept), figuresOf.openingPence as number);
			const changes = own.flatMap((one) => changesOf(spells.get(one) as Spell[]));
			for (const kind of ['new', 'reactivated', 'expansion', 'contraction', 'ended', 'cancelled', 'lapsed']) {
				const some = changes.filter((change) => change.kind === kind && within(change.atMs));
				figuresOf[`${kind}Pence`] = sum(some.map(({ pence }) => pence));
			}
			for (const [figure, value] of Object.entries(figuresOf))
				figures.set(`${span} ${name}: ${figure}`, value);
		}
	}
	return figures;
}

/** What a figure may become. */
type Maybe = Readonly<Record<'low' | 'likely' | 'high', unknown>>;
type Standings = readonly (number | null)[];

/**
 * What figures of a span become if all or none renew who are due and may: those who are due in it, and those who were due
 * before it, each for themselves; and what is likely.
 * @param chances how likely each is lost
 */
function maybeOf(
	standings: Readonly<Record<'known' | 'worst', readonly [before: Standings, after: Standings]>>,
	chances: readonly number[],
) {
	const sumsOf = ([before, after]: readonly [Standings, Standings]) =>
		before.map((pence, one) => {
			const now = after[one] ?? null;
			const stays = pence === null ? 0 : (now ?? 0);
			return {
				opening: { count: Number(pence !== null), pence: pence ?? 0 },
				closing: { count: Number(now !== null), pence: now ?? 0 },
				lost: Number(pence !== null && now === null),
				kept: stays - (pence ?? 0),
				keptAtMost: Math.min(pence ?? 0, stays) - (pence ?? 0),
			};
		});
	type Each = ReturnType<typeof sumsOf>[number];
	const [known, worst] = [sumsOf(standings.known), sumsOf(standings.worst)];
	const all = (figureOf: (one: Each) => number) => {
		const [best, least] = [sum(known.map(figureOf)), sum(worst.map(figureOf))];
		const differences = known.map((one, place) => figureOf(worst[place] as Each) - figureOf(one));
		return {
			best,
			least,
			likely: best + sum(differences.map((each, place) => each * (chances[place] ?? 0))),
		};
	};
	return {
		closing: (of: 'count' | 'pence') => {
			const { best, least, likely } = all(({ closing }) => closing[of]);
			return {
				low: Math.min(best, least),
				likely: new About(likely, 0.5001),
				high: Math.max(best, least),
			};
		},
		/** Of the opening; what is kept is told by what is lost of it. */
		share: (figureOf: (one: Each) => number, of: 'count' | 'pence') => {
			const [part, whole] = [all(figureOf), all(({ opening }) => opening[of])];
			const plus = of === 'pence' ? 1 : 0;
			const about = (share: number) => new About(plus + share, 0.000_052);
			const among = [part.best, part.least].flatMap((each) =>
				[whole.best, whole.least].flatMap((opening) => (opening === 0 ? [] : [each / opening])),
			);
			if (among.length === 0) return { known: null, low: null, likely: null, high: null };
			const [low, high] = [Math.min(...among), Math.max(...among)];
			const likely = whole.likely > 1e-9 ? part.likely / whole.likely : 0;
			return {
				known: whole.best === 0 ? null : about(part.best / whole.best),
				low: about(low),
				likely: about(Math.min(high, Math.max(low, likely))),
				high: about(high),
			};
		},
	};
}

/** Wilson's 95 % interval. */
function wilson(share: number, of: number): [low: number, high: number] {
	const square = 1.96 ** 2;
	const half = 1.96 * Math.sqrt(share * (1 - share) * of + square / 4);
	return [(share * of + square / 2 - half) / (of + square), (share * of + square / 2 + half) / (of + square)];
}

/** What is left after steps, and an interval with as many people as give Greenwood's variance. */
function addSurvival(figures: Figures, name: string, steps: readonly (readonly [number, number])[]): void {
	let [left, greenwood] = [1, 0];
	for (const [stayed, of] of steps) {
		left *= Math.min(1, stayed / of);
		greenwood += Math.max(0, of - stayed) / of / Math.max(1, stayed);
	}
	const variance = left ** 2 * greenwood;
	const people = variance > 0 ? (left * (1 - left)) / variance : (steps.at(-1)?.[1] ?? 0);
	const [low, high] = steps.length > 0 ? wilson(left, people) : [0, 1];
	figures.set(`${name} left`, new About(left, 0.000_051));
	figures.set(`${name} low`, new About(Math.max(0, low), 0.000_051));
	figures.set(`${name} high`, new About(Math.min(1, high), 0.000_051));
}

export function retention(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = begunIn(log, asked);
	const triedOf = lastingIn(log, asked);
	const lastingOf = (one: Subscription) => triedOf(one).payments;
	const paid = chosen(log, asked).filter((one) => lastingOf(one).length > 0);
	const chanceOf = renewalChances(paid, lastingOf, asked.asOfMs);
	const ages: { of: number; active: number; before: number; pence: number; open: number }[] = [];
	for (const [name, own] of Map.groupBy(
		acquired,
		({ begunAtMs, group }) => `${monthOf(begunAtMs, asked)} ${group}`,
	)) {
		const month = name.slice(0, 7);
		const starts = startsOf(Math.min(...own.map(({ begunAtMs }) => begunAtMs)), asked.asOfMs, asked.timezone);
		const spells = own.map(({ tried }) => spellsOf(tried.payments, asked));
		const worst = own.map(({ tried }) => spellsOf(tried.payments, asked, true));
		const isThere = (some: readonly Spell[] | undefined, ms: number) => standingAt(some ?? [], ms) !== null;
		figures.set(`${name}: subscriptions`, own.length);
		figures.set(
			`${name}: now`,
			spells.filter((some) => some.at(-1)?.endsAtMs === Number.POSITIVE_INFINITY).length,
		);
		figures.set(`${name}: to date`, sum(own.flatMap(({ events }) => events.map(({ rvn }) => rvn))));
		let before = own.length;
		for (const [age, endMs] of starts.slice(1, asked.months + 2).entries()) {
			const isOver = endMs <= asked.asOfMs;
			const paid = own.flatMap(({ events }) =>
				events.filter(({ atMs }) => Math.max(0, monthsBetween(month, monthOf(atMs, asked))) === age),
			);
			const active = spells.filter((some) => isThere(some, endMs)).length;
			const pence = sum(paid.map(({ rvn }) => rvn));
			const open = own.filter((_, one) => isThere(spells[one], endMs) && !isThere(worst[one], endMs));
			const gone = sum(open.map((one) => 1 - chanceOf(one)));
			figures.set(`${name}: open ${age}`, isOver ? open.length : null);
			figures.set(`${name}: gone ${age}`, isOver ? new About(gone, 0.5001) : null);
			figures.set(`${name}: active ${age}`, isOver ? active : null);
			figures.set(`${name}: pence ${age}`, isOver ? pence : null);
			if (!isOver) continue;
			const all = ages[age] ?? { of: 0, active: 0, before: 0, pence: 0, open: 0 };
			ages[age] = {
				of: all.of + own.length,
				active: all.active + active,
				before: all.before + before,
				pence: all.pence + pence,
				open: all.open + open.length,
			};
			before = active;
		}
	}
	let steps: [stayed: number, of: number][] = [];
	for (const [age, { of, active, before, pence, open }] of ages.entries()) {
		figures.set(`all ${age}: open`, open);
		if (before > 0) steps = [...steps, [active, before]];
		figures.set(`all ${age}: subscriptions`, of);
		figures.set(`all ${age}: active`, active);
		figures.set(`all ${age}: each`, new About(pence / of, 0.51));
		addSurvival(figures, `all ${age}`, steps);
	}
	return figures;
}

export function renewals(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const [plan, own] of Map.groupBy(
		begunIn(log, asked),
		({ first, tried, group }) => `${planOf(tried.soldDays)} ${first.evt}: ${group}`,
	)) {
		const soldOf = ({ tried }: (typeof own)[number]) => tried.soldDays;
		const days = own.map((one) => soldOf(one) ?? Number.NaN).sort((a, b) => a - b);
		const middle = days[Math.floor(days.length / 2)] as number;
		// The report tells the median to two digits, and not the plan: 7.497 days are 7, but 7.50 are 8.
		const told = Number.isNaN(middle) ? null : Math.round(100 * middle) / 100;
		const name = plan.replace(planOf(soldOf(own[0] as (typeof own)[number])), planOf(told));
		figures.set(`${name} subscriptions`, own.length);
		figures.set(`${name} days`, Number.isNaN(middle) ? null : new About(middle, 0.005_1));
		const refunded = own.filter(({ events }) => events.some(({ rvn }) => rvn < 0));
		figures.set(`${name} refunds`, ratio(refunded.length, own.length));
		// It is unknown how often their first price is paid, so there is no age.
		if (told === null) continue;
		const times = own.map(({ tried }) => timesOf(tried.payments, asked));
		const steps: [stayed: number, of: number][] = [];
		for (let age = 1; age <= 60; age++) {
			const could = times.filter(({ over, since }) => over + since >= age);
			if (could.length === 0) break;
			const didRenew = (some: typeof times) => some.filter(({ isRenewed }) => isRenewed[age - 1]).length;
			figures.set(`${name} ${age} eligible`, could.length);
			figures.set(`${name} ${age} did`, didRenew(could));
			const due = could.filter(({ over }) => over >= age);
			if (due.length === 0) continue;
			steps.push([didRenew(due), due.length]);
			figures.set(`${name} ${age} at risk`, due.length);
			figures.set(`${name} ${age} renewed`, didRenew(due));
			addSurvival(figures, `${name} ${age}`, steps);
		}
	}
	return figures;
}

/** How likely a trial is paid for that is open, by those that are over and were open for as long. */
function conversionChances(tried: readonly TriedPayments[], asOfMs: number) {
	const agesOf = ({ triedAtMs, trialCancelledAtMs, payments }: TriedPayments) => ({
		openMs:
			Math.min(trialCancelledAtMs, payments[0]?.atMs ?? Number.POSITIVE_INFINITY) - (triedAtMs as number),
		isPaid: payments.length > 0,
	});
	const over = tried.filter(({ decidedAtMs }) => decidedAtMs <= asOfMs);
	return ({ triedAtMs, triedPence }: TriedPayments): number => {
		const openFor = (some: readonly TriedPayments[]) =>
			some.map(agesOf).filter(({ openMs }) => openMs > asOfMs - (triedAtMs as number));
		const paidOf = (some: ReturnType<typeof openFor>) => some.filter(({ isPaid }) => isPaid).length;
		const [same, all] = [openFor(over.filter((one) => one.triedPence === triedPence)), openFor(over)];
		const ofAll = (paidOf(all) + 0.5) / (all.length + 1);
		return (paidOf(same) + 10 * ofAll) / (same.length + 10);
	};
}

/** What became of the trials that began in the period. */
export function trials(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const triedOf = lastingIn(log, asked);
	const began = chosen(log, asked)
		.map((one) => ({ one, ...triedOf(one) }))
		.filter(({ triedAtMs }) => triedAtMs !== null && isIn(asked, triedAtMs));
	const likelyOf = conversionChances(
		chosen(log, asked)
			.map(triedOf)
			.filter(({ triedAtMs }) => triedAtMs !== null),
		asked.asOfMs,
	);
	const firstMs = Math.min(...began.map(({ triedAtMs }) => triedAtMs as number));
	const spans = asked.every === null ? undefined : spansFrom(firstMs, asked.every, asked);
	const spanOf = (ms: number) =>
		spans ? `${spans.find(({ fromMs, toMs }) => ms >= fromMs && ms < toMs)?.name} ` : '';
	for (const [name, own] of Map.groupBy(
		began,
		({ one, triedAtMs, triedPence }) => `${spanOf(triedAtMs as number)}${groupOf(one, asked, triedPence)}`,
	)) {
		const paid = own.filter(({ payments }) => payments.length > 0);
		const over = own.filter(({ decidedAtMs }) => decidedAtMs <= asked.asOfMs);
		const paidOfOver = over.filter(({ payments }) => payments.length > 0);
		const open = own.filter(
			(one) =>
				!over.includes(one) && !paid.includes(one) && one.trialCancelledAtMs === Number.POSITIVE_INFINITY,
		);
		const likely = paid.length + sum(open.map(likelyOf));
		const days = paid
			.map(({ payments, triedAtMs }) => ((payments[0]?.atMs as number) - (triedAtMs as number)) / dayMs)
			.sort((a, b) => a - b);
		figures.set(`${name}: trials`, own.length);
		figures.set(`${name}: converted`, paid.length);
		figures.set(`${name}: open`, open.length);
		figures.set(`${name}: not converted`, own.length - paid.length - open.length);
		figures.set(`${name}: decided`, over.length);
		const isKnown = over.length === own.length;
		figures.set(`${name}: converted at most`, isKnown ? null : paid.length + open.length);
		figures.set(`${name}: converted likely`, isKnown ? null : new About(likely, 0.5001));
		figures.set(`${name}: rate likely`, isKnown ? null : ratio(likely, own.length));
		figures.set(`${name}: converted at least`, isKnown ? null : paid.length);
		figures.set(`${name}: rate at least`, isKnown ? null : ratio(paid.length, own.length));
		figures.set(`${name}: rate at most`, isKnown ? null : ratio(paid.length + open.length, own.length));
		figures.set(`${name}: rate`, ratio(paidOfOver.length, over.length));
		const bounds = over.length === 0 ? [] : wilson(paidOfOver.length / over.length, over.length);
		for (const [place, bound] of ['low', 'high'].entries()) {
			const value = bounds[place];
			const within = value === undefined ? null : new About(Math.min(1, Math.max(0, value)), 0.000_051);
			figures.set(`${name}: ${bound}`, within);
		}
		for (const percent of [50, 75, 90]) {
			const value = days[Math.ceil((percent / 100) * days.length) - 1];
			figures.set(`${name}: days ${percent}`, value === undefined ? null : new About(value, 0.005_1));
		}
	}
	return figures;
}
