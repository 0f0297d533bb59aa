import { About } from './alike.ts';
import { acquiredIn, originOf } from './cohort-sums.ts';
import {
	type Asked,
	countedIn,
	dayMs,
	type Figures,
	monthOf,
	monthsBetween,
	ratio,
	readLog,
	type Subscription,
	sum,
} from './journeys.ts';
import type { Log } from './stored-log.ts';

/** The same as `cohort-sums.ts` for reports on subscriptions whose cadence is set for each `evt`. */

interface Payment {
	readonly atMs: number;
	pence: number;
	left: number;
	backAtMs: number;
}

/** A time in which a subscription was there, with what was paid in it. */
interface Spell {
	readonly payments: Payment[];
	endsAtMs: number;
}

const monthDays = 365.25 / 12;

function paymentsOf({ events }: Subscription): Payment[] {
	const payments: Payment[] = [];
	for (const { atMs, rvn } of events) {
		const last = payments.at(-1);
		if (rvn >= 0 && last && atMs - last.atMs < dayMs / 2 && last.backAtMs === Number.POSITIVE_INFINITY) {
			last.pence += rvn;
			last.left += rvn;
		} else if (rvn >= 0) payments.push({ atMs, pence: rvn, left: rvn, backAtMs: Number.POSITIVE_INFINITY });
		else {
			let back = -rvn;
			for (const payment of payments.toReversed()) {
				const part = Math.min(back, payment.left);
				back -= part;
				payment.left -= part;
				if (part > 0 && payment.left === 0) payment.backAtMs = atMs;
				if (back === 0) break;
			}
		}
	}
	return payments;
}

function periodOf({ first }: Subscription, { period }: Asked) {
	const days = period[first.evt] as number;
	return { days, periodMs: days * dayMs, graceMs: Math.min(30, days / 2) * dayMs };
}

function spellsOf(subscription: Subscription, asked: Asked): Spell[] {
	const { periodMs, graceMs } = periodOf(subscription, asked);
	const spells: Spell[] = [];
	let lapsesAtMs = Number.NEGATIVE_INFINITY;
	for (const payment of paymentsOf(subscription)) {
		if (payment.atMs > lapsesAtMs) spells.push({ payments: [], endsAtMs: Number.NEGATIVE_INFINITY });
		lapsesAtMs = payment.atMs + periodMs + graceMs;
		spells.at(-1)?.payments.push(payment);
	}
	for (const [place, spell] of spells.entries()) {
		const ends = spell.payments.map(({ atMs, backAtMs }) => Math.min(atMs + periodMs, backAtMs));
		const endMs = Math.max(...ends);
		const isBack = spell.payments.some(
			({ atMs, backAtMs }) => backAtMs === endMs && backAtMs < atMs + periodMs,
		);
		const isKnown = place + 1 < spells.length || endMs + (isBack ? 0 : graceMs) <= asked.asOfMs;
		spell.endsAtMs = isKnown ? endMs : Number.POSITIVE_INFINITY;
	}
	return spells;
}

/** Per month. */
function worth(subscription: Subscription, pence: number, asked: Asked): number {
	const months = periodOf(subscription, asked).days / monthDays;
	const whole = [1, 2, 3, 4, 6, 12, 24].find((each) => Math.abs(months / each - 1) <= 0.1);
	return Math.round(pence / (whole ?? months));
}

/** The pence at a moment; null if it is not there. */
function standingAt(subscription: Subscription, spells: readonly Spell[], ms: number, asked: Asked) {
	const spell = spells.find(({ payments, endsAtMs }) => (payments[0] as Payment).atMs < ms && endsAtMs >= ms);
	const last = spell?.payments.findLast(({ atMs }) => atMs < ms);
	return last ? worth(subscription, last.pence, asked) : null;
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

export function movement(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const all = chosen(log, asked);
	const firstMs = Math.max(Math.min(...all.map(({ events }) => events[0]?.atMs as number)), asked.fromMs);
	const lastMs = Math.min(asked.asOfMs, asked.toMs - 1);
	if (all.length === 0 || firstMs > lastMs) return figures;
	const starts = startsOf(firstMs, lastMs, asked.timezone);
	for (const [name, own] of Map.groupBy(all, (one) => originOf(one, asked))) {
		const spells = new Map(own.map((one) => [one, spellsOf(one, asked)]));
		let hasBegun = asked.by.length === 0;
		for (const [place, startMs] of starts.slice(0, -1).entries()) {
			const [from, to] = [Math.max(startMs, asked.fromMs), Math.min(starts[place + 1] as number, asked.toMs)];
			const within = (ms: number) => ms >= from && ms < to;
			const at = (ms: number) => own.map((one) => standingAt(one, spells.get(one) as Spell[], ms, asked));
			const [before, after] = [at(from), at(to)];
			const begun = own.flatMap((one) =>
				(spells.get(one) as Spell[]).map((spell, nth) => ({ one, spell, nth })),
			);
			const started = begun.filter(({ spell }) => within((spell.payments[0] as Payment).atMs));
			const refunds = own.flatMap(({ events }) => events.filter(({ rvn, atMs }) => rvn < 0 && within(atMs)));
			const figuresOf: Record<string, unknown> = {
				opening: before.filter((pence) => pence !== null).length,
				new: started.filter(({ nth }) => nth === 0).length,
				reactivated: started.filter(({ nth }) => nth > 0).length,
				ended: begun.filter(({ spell }) => within(spell.endsAtMs)).length,
				closing: after.filter((pence) => pence !== null).length,
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
			figuresOf.retention = ratio(sum(stayed), figuresOf.openingPence as number);
			const month = monthOf(startMs, asked);
			for (const [figure, value] of Object.entries(figuresOf))
				figures.set(`${month} ${name}: ${figure}`, value);
		}
	}
	return figures;
}

export function retention(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = acquiredIn(log, asked);
	for (const [name, own] of Map.groupBy(
		acquired,
		(one) => `${monthOf(one.first.atMs, asked)} ${originOf(one, asked)}`,
	)) {
		const month = name.slice(0, 7);
		const starts = startsOf(Math.min(...own.map(({ first }) => first.atMs)), asked.asOfMs, asked.timezone);
		const thereAt = (ms: number) =>
			own.filter((one) => standingAt(one, spellsOf(one, asked), ms, asked) !== null).length;
		figures.set(`${name}: subscriptions`, own.length);
		figures.set(
			`${name}: now`,
			own.filter((one) => spellsOf(one, asked).at(-1)?.endsAtMs === Number.POSITIVE_INFINITY).length,
		);
		figures.set(`${name}: to date`, sum(own.flatMap(({ events }) => events.map(({ rvn }) => rvn))));
		for (const [age, endMs] of starts.slice(1).entries()) {
			const isOver = endMs <= asked.asOfMs;
			const paid = own.flatMap(({ events }) =>
				events.filter(({ atMs }) => Math.max(0, monthsBetween(month, monthOf(atMs, asked))) === age),
			);
			figures.set(`${name}: active ${age}`, isOver ? thereAt(endMs) : null);
			figures.set(`${name}: pence ${age}`, isOver ? sum(paid.map(({ rvn }) => rvn)) : null);
		}
	}
	return figures;
}

export function renewals(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = acquiredIn(log, asked);
	for (const [name, own] of Map.groupBy(acquired, (one) => `${one.first.evt}: ${originOf(one, asked)}`)) {
		const { days, periodMs, graceMs } = periodOf(own[0] as Subscription, asked);
		figures.set(`${name} subscriptions`, own.length);
		figures.set(`${name} days`, days);
		const refunded = own.filter(({ events }) => events.some(({ rvn }) => rvn < 0));
		figures.set(`${name} refunds`, ratio(refunded.length, own.length));
		const paid = own.map(paymentsOf);
		let left = 1;
		for (let age = 1; age <= 60; age++) {
			const due = paid.filter((payments) => {
				const one = payments[age - 1];
				return one && one.atMs + periodMs + graceMs <= asked.asOfMs;
			});
			if (due.length === 0) break;
			const renewed = due.filter((payments) => payments.length > age).length;
			left = (left * renewed) / due.length;
			figures.set(`${name} ${age} at risk`, due.length);
			figures.set(`${name} ${age} renewed`, renewed);
			figures.set(`${name} ${age} left`, new About(left, 0.000_051));
		}
	}
	return figures;
}
