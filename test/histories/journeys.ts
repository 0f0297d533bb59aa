import { About } from './alike.ts';
import { firstShown, ownersOf, type Touch, touchesOf } from './model.ts';
import type { Log, LoggedEvent } from './stored-log.ts';

/** The subscriptions of a log with what led to them, by `docs/reports.md` and without anything of `src/`. */

export const dayMs = 86_400_000;

export interface Asked {
	readonly asOfMs: number;
	readonly fromMs: number;
	readonly toMs: number;
	readonly timezone: string;
	readonly by: readonly ('channel' | 'source' | 'medium' | 'campaign' | 'landing')[];
	readonly basis: 'event' | 'cohort';
	readonly lookbackDays: number;
	readonly evt: string | null;
	readonly channel: string | null;
	/** Days between renewals, by `evt`. */
	readonly period: Readonly<Record<string, number>>;
}

export type Figures = Map<string, unknown>;

export interface Subscription {
	/** By time, then in order of arrival. */
	readonly events: readonly LoggedEvent[];
	/** Undefined where there are only refunds. */
	readonly acquisition: LoggedEvent | undefined;
	readonly first: LoggedEvent;
	readonly owner: string | null;
	readonly shownAtMs: number | null;
	readonly convertedAtMs: number;
	readonly path: readonly Touch[];
}

/** The log as it was, and the subscriptions in it. */
export function readLog({ hits, events, kept }: Log, { asOfMs, lookbackDays }: Asked) {
	const isKnown = ({ atMs }: { readonly atMs: number }) => atMs <= asOfMs;
	const log = {
		hits: hits.filter(isKnown),
		events: events.filter(isKnown),
		kept: { links: kept.links.filter(isKnown), touches: kept.touches.filter(isKnown) },
	};
	const [owners, shown] = [ownersOf(log), firstShown(log)];
	const touches = new Map(
		[...Map.groupBy(touchesOf(log), ({ vid }) => vid)].map(([vid, own]) => [vid, arrivalsOf(own)]),
	);
	const within = (vid: string | null, untilMs: number) =>
		(vid === null ? [] : (touches.get(vid) ?? [])).filter(
			({ atMs }) => atMs <= untilMs && atMs > untilMs - lookbackDays * dayMs,
		);
	const subscriptions = [...Map.groupBy(log.events, ({ subid }) => subid).values()].map(
		(own): Subscription => {
			const sorted = own.toSorted((a, b) => a.atMs - b.atMs);
			const acquisition = sorted.find(({ rvn }) => rvn >= 0);
			const first = acquisition ?? (sorted[0] as LoggedEvent);
			const { vid, named } = owners.get(first.tid) as { vid: string | null; named: number };
			const shownAtMs = acquisition && named === 2 ? (shown.get(`t:${first.tid}`)?.atMs ?? null) : null;
			const convertedAtMs = shownAtMs ?? first.atMs;
			const path = within(vid, convertedAtMs);
			return { events: sorted, acquisition, first, owner: vid, shownAtMs, convertedAtMs, path };
		},
	);
	return { log, owners, touches, within, subscriptions };
}

/** Without those from where it was paid, and without repeats of the last 30 minutes. */
function arrivalsOf(touches: readonly Touch[]): Touch[] {
	const counted = touches
		.filter(({ origin: [, source, medium, campaign] }) => {
			const isPaid = source !== null && /(^|\.)stripe\.com$/.test(source);
			return !isPaid || medium !== null || campaign !== null;
		})
		.sort((a, b) => a.atMs - b.atMs);
	return counted.filter(({ atMs, origin }, place) => {
		const before = counted[place - 1];
		const isAlike = before && JSON.stringify(before.origin) === JSON.stringify(origin);
		return !(isAlike && atMs - before.atMs < 30 * 60_000);
	});
}

const fields = ['channel', 'source', 'medium', 'campaign', 'landing'] as const;

export function labelOf({ origin }: Touch, { by }: Asked): string {
	return by.map((name) => origin[fields.indexOf(name)] ?? '(not set)').join(' | ');
}

export const isIn = ({ fromMs, toMs }: Asked, atMs: number) => atMs >= fromMs && atMs < toMs;

export function monthOf(atMs: number, { timezone }: Asked): string {
	const parts = new Intl.DateTimeFormat('en', { timeZone: timezone, year: 'numeric', month: '2-digit' });
	const part = (type: string) => parts.formatToParts(atMs).find((one) => one.type === type)?.value;
	return `${part('year')}-${part('month')}`;
}

const monthNumber = (month: string) => 12 * Number(month.slice(0, 4)) + Number(month.slice(5));
export const monthsBetween = (from: string, to: string) => monthNumber(to) - monthNumber(from);
export const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
export const names = ['subscriptions', 'acquisitionPence', 'renewalPence', 'refundPence'] as const;
export type Amounts = Record<(typeof names)[number], number>;

function amountsOf({ acquisition }: Subscription, events: readonly LoggedEvent[]): Amounts {
	const pence = (some: readonly LoggedEvent[]) => sum(some.map(({ rvn }) => rvn));
	return {
		subscriptions: events.filter((event) => event === acquisition).length,
		acquisitionPence: pence(events.filter((event) => event === acquisition)),
		renewalPence: pence(events.filter((event) => event !== acquisition && event.rvn >= 0)),
		refundPence: pence(events.filter(({ rvn }) => rvn < 0)),
	};
}

/** The subscriptions that a report counts, with their events in it. */
export function countedIn(subscriptions: readonly Subscription[], asked: Asked) {
	return subscriptions
		.filter(({ first, path }) => {
			if (asked.evt !== null && first.evt !== asked.evt) return false;
			return asked.channel === null || path.some(({ origin }) => origin[0] === asked.channel);
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

export function weightsOf(model: string, { path, convertedAtMs }: Subscription): number[] {
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
	const powers = path.map(({ atMs }) => 0.5 ** ((convertedAtMs - atMs) / dayMs / 7));
	return powers.map((power) => power / sum(powers));
}

/** A rounded ratio. */
export const ratio = (part: number, whole: number) =>
	whole === 0 ? null : new About(part / whole, 0.000_051);
