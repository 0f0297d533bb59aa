import type { CancellationEvt, EventKind } from '../../core/domain/event-kind.ts';
import { isFromPayment, type Touch } from '../../core/domain/touch.ts';
import { dayMs, hourMs, minuteMs } from '../../core/durations.ts';
import { parseOrigin } from '../../core/store/account/profiles/touches.ts';
import type { Account } from '../../core/store/control/account-store.ts';
import type { Check } from '../../core/store/maintenance.ts';
import type { Reading } from '../../core/store/steps.ts';
import type { Store } from '../../core/store/store.ts';
import { firstMomentMs, hitsByPart, hitsIn } from '../../kit/reading/hit-rows.ts';
import {
	beginDays,
	daysKept,
	forgetFutureDays,
	hasFutureDays,
	keepDay,
	keptDays,
	utcDay,
} from '../../kit/reading/kept-days.ts';
import { arrivalsIn } from '../../kit/reading/touch-rows.ts';
import { requireExactSums } from '../../kit/reports/exact-sums.ts';
import { type Amounts, isIn, noAmounts, type Period, placeOf } from '../../kit/reports/journey.ts';
import { type JourneyOptions, readSubscriptions } from '../../kit/reports/read-journeys.ts';

/**
 * What came in, by spans of time: from the figures that are kept of days, and from the log where there are none. Only what joins
 * do not change is kept: hits, arrivals by where they came from, and events by what they are to their subscription.
 */

/** All offsets of time zones are multiples of it, so that it adds up to the days of any. */
const quarterMs = 15 * minuteMs;
const quartersOfDay = dayMs / quarterMs;
/** A day is over for so long before it is kept: requests may still store at its end. */
const settledMs = hourMs;
/** Longer than any transaction lasts: one that had looked for rows to delete before these were there has ended. */
export const graceMs = 2 * minuteMs;
/** As many days are kept. */
const maxDays = 1100;

/** What came in in a span. Pence of refunds are negative. */
export interface CameIn extends Amounts {
	readonly hits: number;
	readonly arrivals: number;
	readonly renewals: number;
	readonly refunds: number;
}

type RunningCounts = { -readonly [Name in keyof CameIn]: CameIn[Name] };

const nothing: CameIn = { ...noAmounts, hits: 0, arrivals: 0, renewals: 0, refunds: 0 };
const counts = { acquisition: 'subscriptions', renewal: 'renewals', refund: 'refunds' } as const;
/** What comes in and is counted: a cancellation is nothing that came in. */
type CountedKind = Exclude<EventKind, 'cancellation'>;

/** The figures of a day as they are kept. Each list begins with the number of the quarter-hour in the day. */
interface DayFigures {
	/** What was no event that counts. Where the account names another one by now, the day is counted anew. */
	readonly cancellationEvt: CancellationEvt;
	readonly hits: readonly (readonly [quarter: number, hits: number])[];
	/** The source is left out where no payment provider can be meant. */
	readonly visits: readonly (readonly [
		quarter: number,
		channel: string,
		source: string | null,
		visits: number,
	])[];
	readonly events: readonly (readonly [quarter: number, kind: CountedKind, events: number, pence: number])[];
}

/** Where somebody came from, as far as it is kept. */
type From = Pick<Touch, 'channel' | 'source'>;

/** Where what is read goes. */
interface Sink {
	arrivals(atMs: number, from: From, arrivals: number): void;
	events(atMs: number, kind: CountedKind, events: number, pence: number): void;
}

/** Reads arrivals and events of a period from the log. */
function* readLog(
	period: Period,
	{ asOfMs, cancellationEvt }: Pick<JourneyOptions, 'asOfMs' | 'cancellationEvt'>,
	sink: Sink,
): Reading<void> {
	const known = new Map<string, From>();
	yield* arrivalsIn(period, (atMs, origin) =>
		sink.arrivals(atMs, known.getOrInsertComputed(origin, fromOf), 1),
	);
	// What an event is does not depend on whose it is, nor on later ones.
	for (const { subscription } of yield* readSubscriptions({
		asOfMs,
		isPast: false,
		period,
		cancellationEvt,
	}))
		for (const { atMs, kind, revenuePence } of subscription.steps)
			if (kind !== 'cancellation' && isIn(period, atMs)) sink.events(atMs, kind, 1, revenuePence);
}

function fromOf(text: string): From {
	const { channel, source, medium, campaign } = parseOrigin(text);
	return { channel, source: medium === null && campaign === null ? source : null };
}

/**
 * Counts what came in in each of some spans, which follow each other.
 * @throws OperatorError where sums would not be exact
 */
export function* readCameIn(
	spans: readonly Period[],
	options: Pick<JourneyOptions, 'asOfMs' | 'paymentProviders' | 'gateways' | 'cancellationEvt'>,
): Reading<CameIn[]> {
	const { paymentProviders, gateways, cancellationEvt } = options;
	const all = spans.map((): RunningCounts => ({ ...nothing }));
	const [first, last] = [spans[0], spans.at(-1)];
	if (!first || !last) return all;
	const at = (atMs: number) => all[placeOf(spans, atMs)] as RunningCounts;
	const sink: Sink = {
		arrivals: (atMs, from, arrivals) => {
			const isPayment = isFromPayment({ ...from, medium: null, campaign: null }, paymentProviders);
			if (!isPayment) at(atMs).arrivals += arrivals;
		},
		events: (atMs, kind, events, pence) => {
			const came = at(atMs);
			if (kind === 'trial') came.trials += events;
			else {
				came[counts[kind]] += events;
				came[`${kind}Pence`] += pence;
			}
		},
	};
	// Only before there were time zones, days of a calendar began in between.
	const areWhole = spans.every(({ fromMs }) => fromMs % quarterMs === 0);
	const kept = areWhole ? yield* keptDays(utcDay(first.fromMs), utcDay(last.toMs)) : [];
	const gaps: Period[] = [];
	let { fromMs } = first;
	for (const { day, figures } of kept) {
		const startMs = Date.parse(day);
		const begin = Math.max(0, (first.fromMs - startMs) / quarterMs);
		const end = Math.min(quartersOfDay, Math.floor((last.toMs - startMs) / quarterMs));
		if (figures === null || begin >= end) continue;
		const { hits, visits, events, ...made }: DayFigures = JSON.parse(figures);
		if (made.cancellationEvt !== cancellationEvt) continue;
		const within = <Row extends readonly [quarter: number, ...unknown[]]>(rows: readonly Row[]) =>
			rows.filter(([quarter]) => quarter >= begin && quarter < end);
		const momentOf = (quarter: number) => startMs + quarter * quarterMs;
		for (const [quarter, number] of within(hits)) at(momentOf(quarter)).hits += number;
		for (const [quarter, channel, source, number] of within(visits))
			sink.arrivals(momentOf(quarter), { channel, source }, number);
		for (const [quarter, ...event] of within(events)) sink.events(momentOf(quarter), ...event);
		gaps.push({ fromMs, toMs: momentOf(begin) });
		fromMs = momentOf(end);
	}
	gaps.push({ fromMs, toMs: last.toMs });
	for (const gap of gaps.filter(isNotEmpty)) {
		const parts = spans.map((span) => overlap(span, gap)).filter(isNotEmpty);
		for (const [place, hits] of (yield* hitsIn(parts)).entries())
			at((parts[place] as Period).fromMs).hits += hits;
		yield* readLog(gap, options, sink);
	}
	// They are kept with all others: who is one may show only later.
	for (const atMs of gateways.values()) {
		if (!isIn({ fromMs: first.fromMs, toMs: last.toMs }, atMs)) continue;
		at(atMs).hits--;
		at(atMs).arrivals--;
	}
	requireExactSums(all.flatMap((each) => [each.acquisitionPence, each.renewalPence, each.refundPence]));
	return all;
}

function overlap(a: Period, b: Period): Period {
	return { fromMs: Math.max(a.fromMs, b.fromMs), toMs: Math.min(a.toMs, b.toMs) };
}

function isNotEmpty({ fromMs, toMs }: Period): boolean {
	return fromMs < toMs;
}

/** The figures of a day, from the log, as they are kept: `DayFigures` as JSON. */
function* figuresOf(day: string, cancellationEvt: CancellationEvt): Reading<string> {
	const fromMs = Date.parse(day);
	const period = { fromMs, toMs: fromMs + dayMs };
	const parts = yield* hitsByPart(period, quarterMs);
	const hits = [...parts].map(([part, number]) => [part - fromMs / quarterMs, number]);
	const [visits, events] = [new Map<string, number[]>(), new Map<string, number[]>()];
	const add = (sums: Map<string, number[]>, atMs: number, names: readonly unknown[], amounts: number[]) => {
		const row = JSON.stringify([Math.floor((atMs - fromMs) / quarterMs), ...names]);
		const before = sums.get(row) ?? [];
		sums.set(
			row,
			amounts.map((amount, place) => amount + (before[place] ?? 0)),
		);
	};
	yield* readLog(
		period,
		{ asOfMs: Number.MAX_SAFE_INTEGER, cancellationEvt },
		{
			arrivals: (atMs, { channel, source }, number) => add(visits, atMs, [channel, source], [number]),
			events: (atMs, kind, number, pence) => add(events, atMs, [kind], [number, pence]),
		},
	);
	// In an order that does not depend on that of the rows, so that equal figures are equal texts.
	const textOf = (sums: ReadonlyMap<string, readonly number[]>) =>
		[...sums].map(([row, amounts]) => JSON.stringify([...JSON.parse(row), ...amounts])).sort();
	return `{"cancellationEvt":${JSON.stringify(cancellationEvt)},"hits":${JSON.stringify(hits)},"visits":[${textOf(visits)}],"events":[${textOf(events)}]}`;
}

/**
 * Keeps the figures of days that are over and were asked for long enough ago, and asks for the others. Forgets what was kept while
 * the clock was ahead.
 * @returns whether some are to be kept after `graceMs`
 */
export async function keepDays(
	store: Store,
	{ id: accountId, cancellationEvt }: Pick<Account, 'id' | 'cancellationEvt'>,
	signal?: AbortSignal,
): Promise<boolean> {
	const nowMs = store.now();
	if (await store.read(accountId, hasFutureDays(nowMs)))
		await store.transact(accountId, () => forgetFutureDays(nowMs));
	const endMs = Math.floor((nowMs - settledMs) / dayMs) * dayMs;
	const firstMs = await store.read(accountId, firstMomentMs());
	const beginMs = Math.max(Math.floor(firstMs / dayMs) * dayMs, endMs - maxDays * dayMs);
	if (!(beginMs < endMs)) return false;
	const rows = await store.read(accountId, daysKept(utcDay(beginMs), utcDay(endMs - dayMs)));
	const known = new Set(rows.map(({ day }) => day));
	const missing: string[] = [];
	for (let ms = endMs - dayMs; ms >= beginMs; ms -= dayMs)
		if (!known.has(utcDay(ms))) missing.push(utcDay(ms));
	if (missing.length > 0) await store.transact(accountId, () => beginDays(missing, nowMs));
	const asked = rows.filter(({ isMade }) => !isMade);
	const ready = asked.filter(({ sinceMs }) => sinceMs <= nowMs - graceMs);
	for (const day of ready.reverse()) {
		if (signal?.aborted) return false;
		const figures = await store.read(accountId, figuresOf(day.day, cancellationEvt));
		await store.transact(accountId, () => keepDay(day, figures));
	}
	return missing.length > 0 || ready.length < asked.length;
}

/** Compares the figures that are kept of days with the log. @param isReadable whether an account may be read */
export async function* checkDays(
	store: Store,
	isReadable: (aid: string) => boolean = () => true,
): AsyncIterable<Check> {
	for (const { id, aid, cancellationEvt } of await store.control.accounts()) {
		if (!isReadable(aid)) continue;
		const kept = (await store.read(id, daysKept('', '~'))).filter(({ isMade }) => isMade);
		if (kept.length === 0) continue;
		const wrong: string[] = [];
		for (const { day } of kept)
			if (!(await store.read(id, followsFromLog(day, cancellationEvt)))) wrong.push(day);
		const ok = wrong.length === 0;
		const detail = ok
			? `the stored figures of ${kept.length} days agree with the log`
			: `the stored figures of ${wrong.length} of ${kept.length} days, such as ${wrong[0]}, disagree with the log: 'caskade visitor rebuild ${aid}' calculates all again`;
		yield { check: `days of ${aid}`, ok, detail };
	}
}

function* followsFromLog(day: string, cancellationEvt: CancellationEvt): Reading<boolean> {
	const [kept] = yield* keptDays(day, day);
	return !kept || kept.figures === null || kept.figures === (yield* figuresOf(day, cancellationEvt));
}
