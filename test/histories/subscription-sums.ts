import { About } from './alike.ts';
import { acquiredIn, groupOf } from './cohort-sums.ts';
import {
	type Asked,
	countedIn,
	dayMs,
	type Figures,
	monthOf,
	monthsBetween,
	type Payment,
	paymentsOf,
	ratio,
	readLog,
	type Subscription,
	spansFrom,
	sum,
} from './journeys.ts';
import type { Log } from './stored-log.ts';

/** The same as `cohort-sums.ts` for reports on subscriptions whose cadence is set for each `evt`. */

/** A time in which a subscription was there, with what was paid in it. */
interface Spell {
	readonly payments: Payment[];
	endsAtMs: number;
}

const monthDays = 365.25 / 12;

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

/** What happened to the recurring pence of a subscription. */
function changesOf(one: Subscription, spells: readonly Spell[], asked: Asked) {
	const changes: { kind: string; atMs: number; pence: number }[] = [];
	for (const [nth, { payments, endsAtMs }] of spells.entries()) {
		let before = 0;
		for (const [place, { atMs, pence }] of payments.entries()) {
			const now = worth(one, pence, asked);
			const change = now > before ? 'expansion' : 'contraction';
			const kind = place > 0 ? change : nth === 0 ? 'new' : 'reactivated';
			changes.push({ kind, atMs, pence: Math.abs(now - before) });
			before = now;
		}
		changes.push({ kind: 'ended', atMs: endsAtMs, pence: before });
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

/** How many payments are over, how many of these were renewed, and how often one that was not could have been since. */
function timesOf(one: Subscription, asked: Asked) {
	const { periodMs, graceMs } = periodOf(one, asked);
	const payments = paymentsOf(one);
	const over = payments.filter(({ atMs }) => atMs + periodMs + graceMs <= asked.asOfMs).length;
	const lapsedMs = asked.asOfMs - (payments.at(-1) as Payment).atMs - periodMs - graceMs;
	const since = over === payments.length ? Math.floor(lapsedMs / periodMs) : 0;
	return { over, since, renewed: Math.min(over, payments.length - 1) };
}

/** What is expected to be paid in a year, with its bounds, for each month and group. */
export function projections(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = new Set(acquiredIn(log, asked).map(({ first }) => first.tid));
	const paid = chosen(log, asked).filter(({ acquisition }) => acquisition);
	for (const [group, all] of Map.groupBy(paid, (one) => groupOf(one, asked))) {
		const rateOf = (evt: string) => {
			const times = all.filter(({ first }) => first.evt === evt).map((one) => timesOf(one, asked));
			const [over, renewed] = [sum(times.map((each) => each.over)), sum(times.map((each) => each.renewed))];
			const bounds = over === 0 ? [0, 1] : wilson(renewed / over, over);
			const [low, high] = bounds.map((bound) => Math.round(bound * 10_000) / 10_000) as [number, number];
			return { low, middle: (low + high) / 2, high };
		};
		const own = all.filter(({ first }) => acquired.has(first.tid));
		for (const [month, some] of Map.groupBy(own, ({ first }) => monthOf(first.atMs, asked))) {
			let [low, middle, high, variance] = [0, 0, 0, 0];
			for (const one of some) {
				const { periodMs } = periodOf(one, asked);
				const payments = spellsOf(one, asked).at(-1)?.payments as Payment[];
				const dueAtMs = Math.max(
					...payments.map(({ atMs, backAtMs }) => Math.min(atMs + periodMs, backAtMs)),
				);
				if (dueAtMs <= asked.asOfMs) continue;
				const rate = rateOf(one.first.evt);
				const price = (payments.at(-1) as Payment).pence;
				let [times, square] = [0, 0];
				const mean = { low: 0, middle: 0, high: 0 };
				for (let atMs = dueAtMs; atMs <= asked.asOfMs + 365 * dayMs; atMs += periodMs) {
					times++;
					for (const each of ['low', 'middle', 'high'] as const) mean[each] += rate[each] ** times;
					square += (2 * times - 1) * rate.middle ** times;
				}
				low += price * mean.low;
				middle += price * mean.middle;
				high += price * mean.high;
				variance += price ** 2 * (square - mean.middle ** 2);
			}
			const chance = 1.96 * Math.sqrt(Math.max(0, variance));
			figures.set(`${month} ${group}: projected`, new About(middle, 0.501));
			figures.set(`${month} ${group}: projected low`, new About(Math.max(0, low - chance), 0.501));
			figures.set(`${month} ${group}: projected high`, new About(high + chance, 0.501));
		}
	}
	return figures;
}

export function movement(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const all = chosen(log, asked);
	const firstMs = Math.min(...all.map(({ events }) => events[0]?.atMs as number));
	const spans = spansFrom(firstMs, asked.every ?? 'month', asked);
	for (const [name, own] of Map.groupBy(all, (one) => groupOf(one, asked))) {
		const spells = new Map(own.map((one) => [one, spellsOf(one, asked)]));
		let hasBegun = asked.groups.length === 0;
		for (const { name: span, fromMs: from, toMs: to } of spans) {
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
			const kept = before.map((pence, one) => Math.min(pence ?? 0, stayed[one] as number));
			figuresOf.grossRetention = ratio(sum(kept), figuresOf.openingPence as number);
			const changes = own.flatMap((one) => changesOf(one, spells.get(one) as Spell[], asked));
			for (const kind of ['new', 'reactivated', 'expansion', 'contraction', 'ended']) {
				const some = changes.filter((change) => change.kind === kind && within(change.atMs));
				figuresOf[`${kind}Pence`] = sum(some.map(({ pence }) => pence));
			}
			for (const [figure, value] of Object.entries(figuresOf))
				figures.set(`${span} ${name}: ${figure}`, value);
		}
	}
	return figures;
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
	const acquired = acquiredIn(log, asked);
	const ages: { of: number; active: number; before: number; pence: number }[] = [];
	for (const [name, own] of Map.groupBy(
		acquired,
		(one) => `${monthOf(one.first.atMs, asked)} ${groupOf(one, asked)}`,
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
		let before = own.length;
		for (const [age, endMs] of starts.slice(1, asked.months + 2).entries()) {
			const isOver = endMs <= asked.asOfMs;
			const paid = own.flatMap(({ events }) =>
				events.filter(({ atMs }) => Math.max(0, monthsBetween(month, monthOf(atMs, asked))) === age),
			);
			const [active, pence] = [thereAt(endMs), sum(paid.map(({ rvn }) => rvn))];
			figures.set(`${name}: active ${age}`, isOver ? active : null);
			figures.set(`${name}: pence ${age}`, isOver ? pence : null);
			if (!isOver) continue;
			const all = ages[age] ?? { of: 0, active: 0, before: 0, pence: 0 };
			ages[age] = {
				of: all.of + own.length,
				active: all.active + active,
				before: all.before + before,
				pence: all.pence + pence,
			};
			before = active;
		}
	}
	let steps: [stayed: number, of: number][] = [];
	for (const [age, { of, active, before, pence }] of ages.entries()) {
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
	const acquired = acquiredIn(log, asked);
	for (const [name, own] of Map.groupBy(acquired, (one) => `${one.first.evt}: ${groupOf(one, asked)}`)) {
		const { days, periodMs, graceMs } = periodOf(own[0] as Subscription, asked);
		figures.set(`${name} subscriptions`, own.length);
		figures.set(`${name} days`, days);
		const refunded = own.filter(({ events }) => events.some(({ rvn }) => rvn < 0));
		figures.set(`${name} refunds`, ratio(refunded.length, own.length));
		const paid = own.map(paymentsOf);
		const times = own.map((one) => timesOf(one, asked));
		for (let age = 1; age <= 60; age++) {
			const could = times.filter(({ over, since }) => over + since >= age);
			if (could.length === 0) break;
			figures.set(`${name} ${age} eligible`, could.length);
			figures.set(`${name} ${age} did`, could.filter(({ renewed }) => renewed >= age).length);
		}
		const steps: [stayed: number, of: number][] = [];
		for (let age = 1; age <= 60; age++) {
			const due = paid.filter((payments) => {
				const one = payments[age - 1];
				return one && one.atMs + periodMs + graceMs <= asked.asOfMs;
			});
			if (due.length === 0) break;
			const renewed = due.filter((payments) => payments.length > age).length;
			steps.push([renewed, due.length]);
			figures.set(`${name} ${age} at risk`, due.length);
			figures.set(`${name} ${age} renewed`, renewed);
			addSurvival(figures, `${name} ${age}`, steps);
		}
	}
	return figures;
}
