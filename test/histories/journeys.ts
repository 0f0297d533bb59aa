import type { Log, LoggedEvent } from '../core/store/stored-log.ts';
import { About } from './alike.ts';
import { holdersOf, ownersOf, type Touch, touchesOf } from './model.ts';

/** The subscriptions of a log with what led to them, by `docs/reference/reports.md` and without anything of `src/`. */

export const dayMs = 86_400_000;

export interface Asked {
	readonly asOfMs: number;
	readonly fromMs: number;
	readonly toMs: number;
	/** Days, for example 2025-03-30. */
	readonly from: string | null;
	readonly to: string | null;
	readonly timezone: string;
	readonly by: readonly ('channel' | 'source' | 'medium' | 'campaign' | 'landing')[];
	/** What reports on subscriptions are grouped by. */
	readonly groups: readonly string[];
	readonly every: 'day' | 'week' | 'month' | null;
	readonly models: readonly string[];
	/** Whether the model markov has intervals. */
	readonly intervals: boolean;
	readonly halfLifeDays: number;
	readonly months: number;
	readonly basis: 'event' | 'cohort';
	readonly lookbackDays: number;
	readonly evt: string | null;
	/** What one touch of the path must have. */
	readonly touch: { readonly [Name in (typeof fields)[number]]?: string };
	/** Only subscriptions of visitors with more hits than these. */
	readonly moreHitsThan: number;
	/** Days between renewals, by `evt`. */
	readonly period: Readonly<Record<string, number | 'never'>>;
	/** What says that a subscription is cancelled, where it comes without money. */
	readonly cancellationEvt: string | null;
	/** How many days late payments may come, by `evt`, where the account says so. */
	readonly graceDays: Readonly<Record<string, number>>;
	/** Of a funnel: within how many days, and of how many pages. */
	readonly days: number;
	readonly top: number;
	readonly countsGateways: boolean;
}

export type Figures = Map<string, unknown>;

export interface Subscription {
	/** By time, then in order of arrival. */
	readonly events: readonly LoggedEvent[];
	/** The first that is neither a refund nor a cancellation. */
	readonly start: LoggedEvent | undefined;
	/** The first payment above nothing. */
	readonly acquisition: LoggedEvent | undefined;
	readonly cancellations: ReadonlySet<LoggedEvent>;
	readonly first: LoggedEvent;
	readonly owner: string | null;
	/** Of the owner. */
	readonly hits: number;
	readonly shownAtMs: number | null;
	readonly convertedAtMs: number;
	readonly path: readonly Touch[];
}

/** What was paid at one time. */
export interface Payment {
	readonly atMs: number;
	pence: number;
	left: number;
	backAtMs: number;
	/** When a part was paid back last, and how much in all. */
	partAtMs?: number;
	partPence?: number;
	/** What was paid together, one by one. */
	readonly lines: number[];
	/** When it was changed to a dearer plan, and to which price. */
	raise?: { readonly atMs: number; readonly pence: number };
	/** When it was cancelled, and nothing was paid since. */
	cancelledAtMs: number;
}

/** What a subscription has paid; refunds take from the latest payments before them, else from what is paid next. */
export function paymentsOf({ events, cancellations }: Subscription): Payment[] {
	const payments: Payment[] = [];
	const isCharge = new Set<Payment>();
	let owed = 0;
	const payBack = (pence: number, atMs: number) => {
		let back = pence;
		for (const payment of payments.toReversed()) {
			// Charged twice at one time, and one of them paid back.
			if (back > 0 && back < payment.left && payment.lines.filter((line) => line === back).length > 1) {
				payment.lines.splice(payment.lines.indexOf(back), 1);
				payment.pence -= back;
				payment.left -= back;
				return 0;
			}
			const part = Math.min(back, payment.left);
			back -= part;
			payment.left -= part;
			if (part > 0 && payment.left === 0) payment.backAtMs = atMs;
			else if (part > 0) {
				payment.partAtMs = atMs;
				payment.partPence = payment.pence - payment.left;
			}
			if (back === 0) break;
		}
		return back;
	};
	for (const [place, event] of events.entries()) {
		const { atMs, rvn } = event;
		const last = payments.at(-1);
		if (cancellations.has(event)) {
			if (last) last.cancelledAtMs = Math.min(atMs, last.cancelledAtMs);
			continue;
		}
		if (rvn >= 0 && last && atMs - last.atMs < dayMs / 2 && last.backAtMs === Number.POSITIVE_INFINITY) {
			last.pence += rvn;
			last.left += rvn;
			last.lines.push(rvn);
			last.cancelledAtMs = Number.POSITIVE_INFINITY;
		} else if (rvn >= 0)
			payments.push({
				atMs,
				pence: rvn,
				left: rvn,
				backAtMs: Number.POSITIVE_INFINITY,
				lines: [rvn],
				cancelledAtMs: Number.POSITIVE_INFINITY,
			});
		else {
			const left = payBack(-rvn, atMs);
			if (!events.slice(0, place).some((before) => before.rvn > 0)) owed += left;
		}
		if (rvn > 0) owed = payBack(owed, atMs);
	}
	// Charges for the rest of a time, of a dearer plan that is paid from the next time on.
	return payments.filter((charge, place) => {
		const before = payments.slice(0, place).findLast((one) => !isCharge.has(one));
		const next = payments[place + 1];
		if (!before || !next || before.raise || before.pence === 0 || next.pence <= before.pence) return true;
		if (before.backAtMs < Number.POSITIVE_INFINITY || charge.backAtMs < Number.POSITIVE_INFINITY) return true;
		const more = next.pence - before.pence;
		const rest = (more * (next.atMs - charge.atMs)) / (next.atMs - before.atMs);
		if (charge.pence === 0 || Math.abs(charge.pence - rest) > 0.04 * more) return true;
		before.raise = { atMs: charge.atMs, pence: next.pence };
		before.cancelledAtMs = charge.cancelledAtMs;
		isCharge.add(charge);
		return false;
	});
}

/** The log as it was, and the subscriptions in it. */
export function readLog(
	{ hits, events, kept, shared }: Log,
	{ asOfMs, lookbackDays, cancellationEvt, countsGateways }: Asked,
) {
	const upTo = (link: Log['kept']['links'][number]) =>
		link.provenAtMs <= asOfMs ? link : { ...link, provenAtMs: Number.POSITIVE_INFINITY };
	const isKnown = ({ atMs }: { readonly atMs: number }) => atMs <= asOfMs;
	const log = {
		hits: hits.filter(isKnown),
		events: events.filter(isKnown),
		kept: {
			links: kept.links.filter(isKnown).map(upTo),
			touches: kept.touches.filter(isKnown),
			began: kept.began,
		},
		shared,
	};
	const [owners, shown] = [ownersOf(log), holdersOf(log)];
	const allTouches = touchesOf(log);
	const subscribers = new Set([...owners.values()].map(({ vid }) => vid));
	const gateways = countsGateways ? new Set<string>() : gatewaysIn(log.hits, allTouches, subscribers, asOfMs);
	const touches = new Map(
		[...Map.groupBy(allTouches, ({ vid }) => vid)].flatMap(([vid, own]) =>
			gateways.has(vid) ? [] : [[vid, arrivalsOf(own)] as const],
		),
	);
	const within = (vid: string | null, untilMs: number) =>
		(vid === null ? [] : (touches.get(vid) ?? [])).filter(
			({ atMs }) => atMs <= untilMs && atMs > untilMs - lookbackDays * dayMs,
		);
	const hitsOf = Map.groupBy(log.hits, ({ vid }) => vid);
	const shownOf = ({ tid }: LoggedEvent) =>
		(owners.get(tid)?.named === 2 ? shown.get(`t:${tid}`)?.atMs : undefined) ?? Number.MAX_VALUE;
	const subscriptions = [...Map.groupBy(log.events, ({ subid }) => subid).values()].map(
		(own): Subscription => {
			const sorted = own.toSorted(
				(a, b) =>
					a.atMs - b.atMs ||
					b.rvn - a.rvn ||
					compareTexts(a.evt, b.evt) ||
					shownOf(a) - shownOf(b) ||
					compareTexts(owners.get(a.tid)?.vid ?? '', owners.get(b.tid)?.vid ?? ''),
			);
			const cancellations = new Set(sorted.filter(({ rvn, evt }) => rvn === 0 && evt === cancellationEvt));
			const start = sorted.find((event) => event.rvn >= 0 && !cancellations.has(event));
			const acquisition = sorted.find(({ rvn }) => rvn > 0);
			const first = start ?? (sorted[0] as LoggedEvent);
			const { vid, named } = owners.get(first.tid) as { vid: string | null; named: number };
			const shownAtMs = start && named === 2 ? (shown.get(`t:${first.tid}`)?.atMs ?? null) : null;
			const convertedAtMs = shownAtMs ?? first.atMs;
			const path = within(vid, convertedAtMs);
			const ofOwner = vid === null ? 0 : (hitsOf.get(vid)?.length ?? 0);
			return {
				events: sorted,
				start,
				acquisition,
				cancellations,
				first,
				owner: vid,
				hits: ofOwner,
				shownAtMs,
				convertedAtMs,
				path,
			};
		},
	);
	return { log, owners, touches, within, subscriptions, gateways };
}

/** The visitors whom mail gateways made. */
function gatewaysIn(
	hits: Log['hits'],
	touches: readonly Touch[],
	subscribers: ReadonlySet<string | null>,
	asOfMs: number,
): Set<string> {
	const gateways = new Set<string>();
	const hitsOf = Map.groupBy(hits, ({ vid }) => vid);
	const isQuiet = (vid: string) => {
		const [first, ...others] = hitsOf.get(vid) ?? [];
		if (!first || others.length > 0 || subscribers.has(vid)) return false;
		return first.body.events.length === 0 && first.body.cid === null;
	};
	const mailings = Map.groupBy(
		touches.filter(({ origin: [channel] }) => channel === 'email').toSorted((a, b) => a.atMs - b.atMs),
		({ origin: [, source, medium, campaign] }) => JSON.stringify([source, medium, campaign]),
	);
	for (const all of mailings.values())
		for (const first of all) {
			if (all.some(({ atMs }) => atMs < first.atMs && atMs >= first.atMs - 1000)) continue;
			let endMs = first.atMs;
			for (const { atMs } of all) if (atMs > endMs && atMs <= endMs + 1000) endMs = atMs;
			const within = (fromMs: number, toMs: number) =>
				all.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
			const burst = within(first.atMs, endMs);
			const around = within(first.atMs - 60_000, endMs + 60_000).length - burst.length;
			const seconds = (endMs - first.atMs) / 1000;
			const isDense = seconds <= 30 && burst.length >= (10 * around * (seconds + 1)) / 120;
			const vids = new Set(burst.map(({ vid }) => vid));
			const quiet = [...vids].filter(isQuiet);
			if (isDense && endMs <= asOfMs - 30 * 60_000 && chanceOf(vids.size, vids.size - quiet.length) <= 0.001)
				for (const vid of quiet) gateways.add(vid);
		}
	return gateways;
}

/** That of so many people at most so many go on, of whom each does with 0.2. */
function chanceOf(people: number, goOn: number): number {
	let chances = [1];
	for (let one = 0; one < people; one++)
		chances = [...chances, 0].map((chance, place) => 0.8 * chance + 0.2 * (chances[place - 1] ?? 0));
	return sum(chances.slice(0, goOn + 1));
}

/** Without repeats of the last 30 minutes, and without those from where it was paid. */
function arrivalsOf(touches: readonly Touch[]): Touch[] {
	const all = touches.toSorted((a, b) => a.atMs - b.atMs);
	return all.filter(({ atMs, origin }, place) => {
		const before = all[place - 1];
		const isAlike = before && JSON.stringify(before.origin) === JSON.stringify(origin);
		const [, source, medium, campaign] = origin;
		const isPaid = source !== null && /(^|\.)stripe\.com$/.test(source);
		return (
			!(isAlike && atMs - before.atMs < 30 * 60_000) && (!isPaid || medium !== null || campaign !== null)
		);
	});
}

export const fields = ['channel', 'source', 'medium', 'campaign', 'landing'] as const;

export function labelOf({ origin }: Touch, { by }: Pick<Asked, 'by'>): string {
	return by.map((name) => origin[fields.indexOf(name)] ?? '(not set)').join(' | ');
}

export function isAsked({ origin }: Touch, { touch }: Asked): boolean {
	return fields.every((name, place) => touch[name] === undefined || origin[place] === touch[name]);
}

export const isIn = ({ fromMs, toMs }: Asked, atMs: number) => atMs >= fromMs && atMs < toMs;

export function monthOf(atMs: number, { timezone }: Asked): string {
	const parts = new Intl.DateTimeFormat('en', { timeZone: timezone, year: 'numeric', month: '2-digit' });
	const part = (type: string) => parts.formatToParts(atMs).find((one) => one.type === type)?.value;
	return `${part('year')}-${part('month')}`;
}

export interface Span {
	readonly name: string;
	readonly fromMs: number;
	readonly toMs: number;
}

/** The days, weeks or months from a moment on, or from the beginning of the period. */
export function spansFrom(firstMs: number, length: 'day' | 'week' | 'month', asked: Asked): Span[] {
	const { fromMs, toMs, asOfMs, timezone } = asked;
	const lastMs = Math.min(asOfMs, toMs - 1);
	const startMs = Math.max(firstMs, fromMs);
	const spans: Span[] = [];
	if (!(startMs <= lastMs)) return spans;
	const startOf = (day: Temporal.PlainDate) => day.toZonedDateTime(timezone).epochMilliseconds;
	let day = Temporal.Instant.fromEpochMilliseconds(startMs).toZonedDateTimeISO(timezone).toPlainDate();
	while (length === 'month' ? day.day !== 1 : length === 'week' && day.dayOfWeek !== 1)
		day = day.subtract({ days: 1 });
	while (startOf(day) <= lastMs) {
		const next = day.add(length === 'month' ? { months: 1 } : { days: length === 'week' ? 7 : 1 });
		const name = length === 'month' ? String(day).slice(0, 7) : String(day);
		spans.push({ name, fromMs: Math.max(startOf(day), fromMs), toMs: Math.min(startOf(next), toMs) });
		day = next;
	}
	return spans;
}

const monthNumber = (month: string) => 12 * Number(month.slice(0, 4)) + Number(month.slice(5));
export const monthsBetween = (from: string, to: string) => monthNumber(to) - monthNumber(from);
export const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
export const names = ['trials', 'subscriptions', 'acquisitionPence', 'renewalPence', 'refundPence'] as const;
export type Amounts = Record<(typeof names)[number], number>;

function amountsOf({ start, acquisition }: Subscription, events: readonly LoggedEvent[]): Amounts {
	const pence = (some: readonly LoggedEvent[]) => sum(some.map(({ rvn }) => rvn));
	return {
		trials: events.filter((event) => event === start && event.rvn === 0).length,
		subscriptions: events.filter((event) => event === acquisition).length,
		acquisitionPence: pence(events.filter((event) => event === acquisition)),
		renewalPence: pence(events.filter((event) => event !== acquisition && event.rvn >= 0)),
		refundPence: pence(events.filter(({ rvn }) => rvn < 0)),
	};
}

/** The subscriptions that a report counts, with their events in it. */
export function countedIn(subscriptions: readonly Subscription[], asked: Asked) {
	return subscriptions
		.filter(({ first, path, hits }) => {
			if (hits <= asked.moreHitsThan) return false;
			if (asked.evt !== null && first.evt !== asked.evt) return false;
			return Object.keys(asked.touch).length === 0 || path.some((touch) => isAsked(touch, asked));
		})
		.map((subscription) => {
			const isAcquired = isIn(asked, subscription.first.atMs);
			const inPeriod = subscription.events.filter(({ atMs }) => isIn(asked, atMs));
			const events = asked.basis === 'event' ? inPeriod : isAcquired ? subscription.events : [];
			return { subscription, isAcquired, events, amounts: amountsOf(subscription, events) };
		});
}

/** The labels of a path; without a dimension, everything is one. */
export function labelsOf({ path }: Subscription, asked: Asked): string[] {
	return asked.by.length === 0 ? [''] : path.map((touch) => labelOf(touch, asked));
}

export function weightsOf(
	model: string,
	{ path, convertedAtMs }: Subscription,
	{ halfLifeDays }: Asked,
): number[] {
	const ends = (place: number) => path.map((_, touch) => (touch === place ? 1 : 0));
	const count = path.length;
	if (model === 'first') return ends(0);
	if (model === 'last') return ends(count - 1);
	if (model === 'linear') return path.map(() => 1 / count);
	if (model === 'last-non-direct') {
		const last = path.findLastIndex(({ origin }) => origin[0] !== 'direct');
		return ends(last < 0 ? count - 1 : last);
	}
	if (model === 'position' && count > 2)
		return path.map((_, touch) => (touch === 0 || touch === count - 1 ? 0.4 : 0.2 / (count - 2)));
	if (model === 'position') return path.map(() => 1 / count);
	const powers = path.map(({ atMs }) => 0.5 ** ((convertedAtMs - atMs) / dayMs / halfLifeDays));
	return powers.map((power) => power / sum(powers));
}

/** A rounded ratio. */
export const ratio = (part: number, whole: number) =>
	whole === 0 ? null : new About(part / whole, 0.000_051);

function compareTexts(a: string, b: string): number {
	if (a === b) return 0;
	return a < b ? -1 : 1;
}
