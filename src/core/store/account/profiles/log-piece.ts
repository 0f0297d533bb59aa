import { apply, compareEntries, type LogEntry, type Profile } from '../../../domain/profile.ts';
import { hitEntry } from '../../../domain/stored-hit.ts';
import { subscriptionEntry } from '../../../domain/subscription-event.ts';
import { ask, type Reading, type Row, raw, select } from '../../steps.ts';
import { type IdentityLink, linksOfRow, unprovenAmong } from '../owners/identity-links.ts';
import { type HiddenLevel, seenAmong, seenColumns } from './hidden-events.ts';
import type { LoggedHit } from './touches.ts';

/** The most log entries that a piece reads. */
export const maxEntries = 200;

/** A visitor, by its `vid`, or a visit, by its `sid`. Visits have only hits, no events. */
export interface LogSubject {
	readonly key: 'vid' | 'sid';
	readonly name: string;
}

/** Entries of a log. */
export interface LogPart {
	/** In their order. */
	readonly entries: readonly LogEntry[];
	/** Of the hits. */
	readonly links: readonly IdentityLink[];
	readonly hits: readonly LoggedHit[];
	/** What of the events is left out. */
	readonly hidden: HiddenLevel;
}

/** The next entries of a log, complete up to `toMs`. */
export interface LogPiece extends LogPart {
	readonly toMs: number;
	readonly isEnd: boolean;
	/** Whether `toMs` is the next moment and has more entries than a piece. Then none is here. */
	readonly isCrowded: boolean;
}

/** The next entries of a log after a moment. */
export function* readOn(subject: LogSubject, afterMs: number): Reading<LogPiece> {
	const { hits, events, unproven } = yield* entriesOf(subject, '>', afterMs, maxEntries + 1);
	const cuts = [hits, events]
		.filter((rows) => rows.length > maxEntries)
		.map((rows) => Number(rows.at(-1)?.at));
	if (cuts.length === 0)
		return {
			...(yield* partOf(hits, { events, unproven })),
			toMs: Number.NaN,
			isEnd: true,
			isCrowded: false,
		};
	const cutMs = Math.min(...cuts);
	const lastMs = Math.max(
		...[...hits, ...events].map((row) => Number(row.at)).filter((atMs) => atMs < cutMs),
	);
	const isCrowded = !Number.isFinite(lastMs);
	const until = (row: Row) => Number(row.at) <= lastMs;
	const part = yield* partOf(hits.filter(until), { events: events.filter(until), unproven });
	return { ...part, toMs: isCrowded ? cutMs : lastMs, isEnd: false, isCrowded };
}

/** All entries of one moment. */
export function* readMoment(subject: LogSubject, atMs: number): Reading<LogPart> {
	const { hits, events, unproven } = yield* entriesOf(subject, '=', atMs);
	return yield* partOf(hits, { events, unproven });
}

function entriesOf({ key, name }: LogSubject, sign: '>' | '=', atMs: number, max?: number) {
	const piece = (at: string) =>
		raw(max === undefined ? '/* fold */' : `ORDER BY ${at} LIMIT ${max} /* fold */`);
	const vids = key === 'vid' ? [name] : [];
	return ask({
		hits: select`vid, sid, at, body FROM @hit WHERE ${raw(key)} = ${name} AND at ${raw(sign)} ${atMs} ${piece('at')}`,
		events: select`evt, rvn, received_at AS at, ${seenColumns} FROM @subscription_event WHERE vid IN ${vids} AND received_at ${raw(sign)} ${atMs} ${piece('received_at')}`,
		unproven: unprovenAmong(vids),
	});
}

function* partOf(
	rows: readonly Row[],
	{ events: all, unproven }: Readonly<Record<'events' | 'unproven', readonly Row[]>>,
): Reading<LogPart> {
	const { events, hidden } = yield* seenAmong(all, unproven);
	const hits = rows.map(loggedHit);
	const entries: LogEntry[] = hits.map(({ entry }) => entry);
	for (const row of events) entries.push(subscriptionEntry(row as never));
	return {
		entries: entries.sort(compareEntries),
		links: rows.flatMap(linksOfRow),
		hits,
		hidden: [...hidden.values()][0] ?? 0,
	};
}

/** A stored hit. @param row `vid`, `sid`, `at`, `body` */
export function loggedHit({ vid, sid, at, body: text }: Row): LoggedHit {
	const body = JSON.parse(String(text));
	const hit = { sid: String(sid), atMs: Number(at), body, text: String(text) };
	return { vid: String(vid), entry: hitEntry(hit), body };
}

/** @param before the profile so far, as JSON; null if there is none */
export function foldOn(before: Row[string] | undefined, entries: readonly LogEntry[]): Profile | null {
	return entries.reduce<Profile | null>(apply, typeof before === 'string' ? JSON.parse(before) : null);
}
