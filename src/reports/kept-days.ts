import type { EventKind } from '../domain/event-kind.ts';
import { isFromPayment } from '../domain/touch.ts';
import { dayMs, hourMs, minuteMs } from '../durations.ts';
import { beginDays, daysKept, type KeptDay, keepDay, keptDays, utcDay } from '../store/account/kept-days.ts';
import { parseOrigin } from '../store/account/profiles/touches.ts';
import {
	arrivalsIn,
	firstReceivedMs,
	firstVisitMs,
	hitsByPart,
	hitsIn,
} from '../store/account/reading/journey-rows.ts';
import type { Check } from '../store/maintenance.ts';
import type { Reading } from '../store/steps.ts';
import type { Store } from '../store/store.ts';
import { requireExactSums } from './exact-sums.ts';
import { type Amounts, isIn, noAmounts, type Period, placeOf } from './journey.ts';
import { type JourneyOptions, readJourneys } from './read-journeys.ts';

/**
 * What came in, by spans of time: from the figures that are kept of days, and from the log where there are none. Only what joins
 * do not change is kept: hits, visits by where they came from, and events by what they are to their subscription.
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
	readonly visits: number;
	readonly renewals: number;
	readonly refunds: number;
}

type Counting = { -readonly [Name in keyof CameIn]: CameIn[Name] };

const nothing: CameIn = { ...noAmounts, hits: 0, visits: 0, renewals: 0, refunds: 0 };
const counts = { acquisition: 'subscriptions', renewal: 'renewals', refund: 'refunds' } as const;

/** The figures of a day as they are kept. Each list begins with the number of the quarter-hour in the day. */
interface DayFigures {
	readonly hits: readonly (readonly [quarter: number, hits: number])[];
	/** The source is left out where no payment provider can be meant. */
	readonly visits: readonly (readonly [
		quarter: number,
		channel: string,
		source: string | null,
		visits: number,
	])[];
	readonly events: readonly (readonly [quarter: number, kind: EventKind, events: number, pence: number])[];
}

/** Where somebody came from, as far as it is kept. */
interface From {
	readonly channel: string;
	readonly source: string | null;
}

/** Where what is read goes. */
interface Sink {
	visits(place: number, from: From, visits: number): void;
	events(place: number, kind: EventKind, events: number, pence: number): void;
}

/** Reads visits and events in some pieces of time, in their order, from the log. */
function* readLog(pieces: readonly Period[], options: JourneyOptions, sink: Sink): Reading<void> {
	const known = new Map<string, From>();
	// Neighbours are read together.
	for (let begin = 0, end = 0; begin < pieces.length; begin = end) {
		while (++end < pieces.length && pieces[end]?.fromMs === pieces[end - 1]?.toMs);
		const run = pieces.slice(begin, end);
		const period = { fromMs: run[0]?.fromMs as number, toMs: run.at(-1)?.toMs as number };
		yield* arrivalsIn(period, (atMs, origin) => {
			const from = known.getOrInsertComputed(origin, () => fromOf(origin));
			sink.visits(begin + placeOf(run, atMs), from, 1);
		});
		// What an event is does not depend on whose it is, nor on later ones.
		const { journeys } = yield* readJourneys({ ...options, period, isPast: false, needsPaths: false });
		for (const { subscription } of journeys)
			for (const { atMs, kind, revenuePence } of subscription.steps)
				if (isIn(period, atMs)) sink.events(begin + placeOf(run, atMs), kind, 1, revenuePence);
	}
}

function fromOf(text: string): From {
	const { channel, source, medium, campaign } = parseOrigin(text);
	return { channel, source: medium === null && campaign === null ? source : null };
}

/**
 * Counts what came in in each of some spans, in their order.
 * @throws OperatorError where sums would not be exact
 */
export function* readCameIn(spans: readonly Period[], options: JourneyOptions): Reading<CameIn[]> {
	const all = spans.map((): Counting => ({ ...nothing }));
	const [first, last] = [spans[0], spans.at(-1)];
	if (!first || !last) return all;
	const of = (place: number) => all[place] as Counting;
	const sink: Sink = {
		visits: (place, from, visits) => {
			const isPayment = isFromPayment({ ...from, medium: null, campaign: null }, options.paymentProviders);
			if (!isPayment) of(place).visits += visits;
		},
		events: (place, kind, events, pence) => {
			of(place)[counts[kind]] += events;
			of(place)[`${kind}Pence`] += pence;
		},
	};
	const rows = yield* keptDays(utcDay(first.fromMs), utcDay(last.toMs));
	const kept = new Map(rows.flatMap(({ day, figures }) => (figures === null ? [] : [[day, figures]])));
	const places: number[] = [];
	const gaps: Period[] = [];
	const gap = (place: number, fromMs: number, toMs: number) => {
		if (fromMs >= toMs) return;
		const before = gaps.at(-1);
		if (before?.toMs === fromMs && places.at(-1) === place) gaps[gaps.length - 1] = { ...before, toMs };
		else {
			places.push(place);
			gaps.push({ fromMs, toMs });
		}
	};
	let known: { readonly day: string; readonly figures: DayFigures } | undefined;
	for (const [place, span] of spans.entries())
		for (let { fromMs } = span; fromMs < span.toMs; ) {
			const startMs = Math.floor(fromMs / dayMs) * dayMs;
			const toMs = Math.min(span.toMs, startMs + dayMs);
			const day = utcDay(startMs);
			const text = kept.get(day);
			const begin = Math.ceil((fromMs - startMs) / quarterMs);
			const end = Math.floor((toMs - startMs) / quarterMs);
			if (text === undefined || begin >= end) gap(place, fromMs, toMs);
			else {
				if (known?.day !== day) known = { day, figures: JSON.parse(text) };
				gap(place, fromMs, startMs + begin * quarterMs);
				of(place).hits += add(known.figures, { begin, end }, place, sink);
				gap(place, startMs + end * quarterMs, toMs);
			}
			fromMs = toMs;
		}
	for (const [piece, hits] of (yield* hitsIn(gaps)).entries()) of(places[piece] as number).hits += hits;
	yield* readLog(gaps, options, {
		visits: (piece, ...more) => sink.visits(places[piece] as number, ...more),
		events: (piece, ...more) => sink.events(places[piece] as number, ...more),
	});
	requireExactSums(all.flatMap((each) => [each.acquisitionPence, each.renewalPence, each.refundPence]));
	return all;
}

/** @returns the hits */
function add(
	figures: DayFigures,
	{ begin, end }: { readonly begin: number; readonly end: number },
	place: number,
	sink: Sink,
): number {
	const isWithin = (quarter: number) => quarter >= begin && quarter < end;
	for (const [quarter, channel, source, visits] of figures.visits)
		if (isWithin(quarter)) sink.visits(place, { channel, source }, visits);
	for (const [quarter, kind, events, pence] of figures.events)
		if (isWithin(quarter)) sink.events(place, kind, events, pence);
	return figures.hits.reduce((sum, [quarter, hits]) => (isWithin(quarter) ? sum + hits : sum), 0);
}

/** The figures of a day, from the log, as they are kept. */
function* figuresOf(day: string): Reading<string> {
	const startMs = Date.parse(day);
	const quarters = Array.from({ length: quartersOfDay }, (_, quarter) => ({
		fromMs: startMs + quarter * quarterMs,
		toMs: startMs + (quarter + 1) * quarterMs,
	}));
	const parts = yield* hitsByPart({ fromMs: startMs, toMs: startMs + dayMs }, quarterMs);
	const hits = [...parts].map(([part, number]) => [part - startMs / quarterMs, number] as const);
	const visits = new Map<string, [number, string, string | null, number]>();
	const events = new Map<string, [number, EventKind, number, number]>();
	yield* readLog(quarters, ofEverything, {
		visits(quarter, { channel, source }, number) {
			const begin = (): [number, string, string | null, number] => [quarter, channel, source, 0];
			visits.getOrInsertComputed(JSON.stringify([quarter, channel, source]), begin)[3] += number;
		},
		events(quarter, kind, number, pence) {
			const row = events.getOrInsertComputed(`${quarter} ${kind}`, () => [quarter, kind, 0, 0]);
			row[2] += number;
			row[3] += pence;
		},
	});
	// In an order that does not depend on that of the rows, so that equal figures are equal texts.
	const sorted = <Row>(rows: Iterable<Row>) => [...rows].sort(compareTexts);
	const figures: DayFigures = { hits, visits: sorted(visits.values()), events: sorted(events.values()) };
	return JSON.stringify(figures);
}

function compareTexts(a: unknown, b: unknown): number {
	const [one, other] = [JSON.stringify(a), JSON.stringify(b)];
	return one < other ? -1 : one > other ? 1 : 0;
}

const ofEverything: JourneyOptions = {
	asOfMs: Number.MAX_SAFE_INTEGER,
	isPast: false,
	lookbackDays: 0,
	visitsBy: null,
	needsPaths: false,
	period: { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY },
	paymentProviders: new Set(),
};

/**
 * Keeps the figures of days that are over and were asked for long enough ago, and asks for the others.
 * @returns whether some are to be kept after `graceMs`
 */
export async function keepDays(store: Store, accountId: number, signal?: AbortSignal): Promise<boolean> {
	const nowMs = store.now();
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
		await keepOne(store, accountId, day);
	}
	return missing.length > 0 || ready.length < asked.length;
}

async function keepOne(store: Store, accountId: number, day: KeptDay): Promise<void> {
	const figures = await store.read(accountId, figuresOf(day.day));
	await store.transact(accountId, () => keepDay(day, figures));
}

/** When the first hit, kept touch or event was. */
export function* firstMomentMs(): Reading<number> {
	return Math.min(yield* firstVisitMs(), yield* firstReceivedMs());
}

/** Compares the figures that are kept of days with the log. @param isReadable whether an account may be read */
export async function* checkDays(
	store: Store,
	isReadable: (aid: string) => boolean = () => true,
): AsyncIterable<Check> {
	for (const { id, aid } of await store.control.accounts()) {
		if (!isReadable(aid)) continue;
		const { kept, wrong } = await wrongDays(store, id);
		if (kept === 0) continue;
		const check = `days of ${aid}`;
		if (wrong.length === 0)
			yield { check, ok: true, detail: `the figures kept of ${kept} days follow from the log` };
		else
			yield {
				check,
				ok: false,
				detail: `the figures kept of ${wrong.length} of ${kept} days, such as ${wrong[0]}, do not follow from the log: 'caskade visitor rebuild ${aid}' makes all anew`,
			};
	}
}

/** The days whose kept figures differ from the log. @returns also how many are kept */
async function wrongDays(
	store: Store,
	accountId: number,
): Promise<{ kept: number; wrong: readonly string[] }> {
	const days = await store.read(accountId, daysKept('', '~'));
	const made = days.filter(({ isMade }) => isMade);
	const wrong: string[] = [];
	for (const { day } of made) {
		const differs = await store.read(
			accountId,
			(function* () {
				const [kept] = yield* keptDays(day, day);
				return kept !== undefined && kept.figures !== null && kept.figures !== (yield* figuresOf(day));
			})(),
		);
		if (differs) wrong.push(day);
	}
	return { kept: made.length, wrong };
}
