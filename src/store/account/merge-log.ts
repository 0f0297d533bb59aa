import { hash } from 'node:crypto';
import type { HistoryHit } from '../../domain/hit.ts';
import type { Query, Row, Steps } from '../steps.ts';
import { continuesVisit, unique, visitTimeoutMs } from './visitor-log.ts';

/** A hit that is in the log, or about to be. */
export interface PastHit extends HistoryHit {
	/** `body` as JSON text; orders hits of the same moment. */
	readonly text: string;
}

/** Hits with their visits. */
export type PlacedHit = PastHit & { readonly sid: string };

/** The changes to a visitor's log where hits arrive. */
export interface Merged {
	readonly added: readonly PlacedHit[];
	/** Visits whose id changes, because they have a new first hit or were merged into another. */
	readonly renamed: ReadonlyMap<string, string>;
}

/** The maximum number of rows of a long log read in one transaction, except rows of one moment. */
const maxRead = 1000;
/** Hits read on either side of the arriving ones, to find the visits that they continue. */
const maxAround = 200;

/**
 * The arriving hits of visitors with long logs that one transaction can merge, because few enough hits lie between
 * them. The others are left to the next.
 */
export function* fitting<Hit extends HistoryHit>(hitsOf: ReadonlyMap<string, readonly Hit[]>): Steps<Hit[]> {
	const long = [...hitsOf.entries()].map(([vid, hits]) => {
		const times = hits.map(({ atMs }) => atMs);
		return { vid, hits, fromMs: Math.min(...times), toMs: Math.max(...times) };
	});
	const ends = yield long.map(({ vid, fromMs, toMs }) => ({
		sql: `SELECT at FROM @hit WHERE vid = ? AND at >= ? AND at <= ? ORDER BY at LIMIT 1 OFFSET ${maxRead} /* fitting history */`,
		values: [vid, fromMs, toMs],
	}));
	return long.flatMap(({ hits, fromMs }, index) => {
		const endMs = Number(ends[index]?.[0]?.at ?? Number.POSITIVE_INFINITY);
		return hits.filter(({ atMs }) => atMs < endMs || atMs === fromMs);
	});
}

/**
 * Merges arriving hits into the logs of their visitors. @param long visitors whose logs are too long to be read whole
 */
export function* mergeLogs(
	arriving: ReadonlyMap<string, readonly PastHit[]>,
	known: ReadonlySet<string>,
	long: ReadonlySet<string>,
): Steps<Merged[]> {
	const logged = new Map<string, PlacedHit[]>();
	const whole = [...known].filter((vid) => !long.has(vid));
	const [rows = [], ...windows] = yield [
		{
			sql: 'SELECT vid, sid, at, body FROM @hit WHERE vid IN ?list /* known history */',
			values: [whole],
		},
		...[...known.intersection(long)].flatMap((vid) => selectNear(vid, arriving.get(vid) ?? [])),
	];
	for (const row of [...rows, ...windows.flat()]) {
		const hit = toLoggedHit(row);
		const hits = logged.get(hit.vid);
		if (hits) hits.push(hit);
		else logged.set(hit.vid, [hit]);
	}
	const startOf = yield* startsOf(windows.flat());
	for (const { sid, atMs } of [...logged.values()].flat())
		if (!startOf.has(sid) || atMs < (startOf.get(sid) as number)) startOf.set(sid, atMs);
	return [...arriving].map(([vid, hits]) => mergeLog(logged.get(vid) ?? [], hits, startOf));
}

/** The part of a long log where hits arrive. */
function selectNear(vid: string, hits: readonly PastHit[]): Query[] {
	const times = hits.map(({ atMs }) => atMs);
	const [fromMs, toMs] = [Math.min(...times), Math.max(...times)];
	const select = (condition: string, values: readonly number[]): Query => ({
		sql: `SELECT vid, sid, at, body FROM @hit WHERE vid = ? AND ${condition} /* known history */`,
		values: [vid, ...values],
	});
	return [
		select(`at < ? AND at > ? ORDER BY at DESC LIMIT ${maxAround}`, [fromMs, fromMs - visitTimeoutMs]),
		select('at >= ? AND at <= ? ORDER BY at', [fromMs, toMs]),
		select(`at > ? AND at < ? ORDER BY at LIMIT ${maxAround}`, [toMs, toMs + visitTimeoutMs]),
	];
}

/** The start of visits that were read only in part. */
function* startsOf(rows: readonly Row[]): Steps<Map<string, number>> {
	const [starts = []] = yield [
		{
			sql: 'SELECT key AS sid, (SELECT at FROM @hit WHERE sid = list.key ORDER BY at LIMIT 1) AS at FROM ?each AS list /* starts of visits */',
			values: [unique(rows.map(({ sid }) => String(sid)))],
		},
	];
	return new Map(starts.map(({ sid, at }) => [String(sid), Number(at)]));
}

export function toPastHit(hit: HistoryHit): PastHit {
	const { vid, sid, atMs, body } = hit;
	return { vid, sid, atMs, body, text: JSON.stringify(body) };
}

function toLoggedHit(row: Row): PlacedHit {
	const text = String(row.body);
	return {
		vid: String(row.vid),
		sid: String(row.sid),
		atMs: Number(row.at),
		// Parsed only if it is compared.
		get body() {
			return JSON.parse(text);
		},
		text,
	};
}

export function compareHits(a: PastHit, b: PastHit): number {
	return a.atMs - b.atMs || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0);
}

/** Merges hits into a visitor's log. This may change derived visits, which end after half an hour without a hit. */
function mergeLog(
	logged: readonly PlacedHit[],
	arriving: readonly PastHit[],
	startOf: ReadonlyMap<string, number>,
): Merged {
	const fresh = new Set<PastHit>(withoutRepeats(logged, arriving));
	if (fresh.size === 0) return { added: [], renamed: new Map() };
	const isCut = ({ vid, sid }: PlacedHit) => sid === derivedSid(vid, startOf.get(sid) as number);
	const added: PlacedHit[] = [];
	const renamed = new Map<string, string>();
	let cut: { readonly sid: string; readonly lastAtMs: number } | undefined;
	for (const hit of [...logged, ...fresh].sort(compareHits)) {
		const isNew = fresh.has(hit);
		if (hit.sid !== null && (isNew || !isCut(hit as PlacedHit))) {
			if (isNew) added.push(hit as PlacedHit);
			continue;
		}
		const continuedSid = cut && continuesVisit(cut.lastAtMs, hit.atMs) ? cut.sid : undefined;
		const sid: string = continuedSid ?? hit.sid ?? derivedSid(hit.vid, hit.atMs);
		if (isNew) added.push({ ...hit, sid });
		else if (hit.sid !== null && hit.sid !== sid) renamed.set(hit.sid, sid);
		cut = { sid, lastAtMs: hit.atMs };
	}
	return { added, renamed };
}

/**
 * The id of a visit that no hit names: derived from its visitor and its first hit, so that it is found again. It begins
 * like the vid, so that visitors stored in order of their vid are written to one place of the index.
 */
function derivedSid(vid: string, startedAtMs: number): string {
	return vid.slice(0, 4) + hash('sha256', `${vid} ${startedAtMs}`).slice(4, 32);
}

/** The arriving hits that are neither in the log nor repeated. */
function withoutRepeats(logged: readonly PastHit[], arriving: readonly PastHit[]): PastHit[] {
	const knownAt = Map.groupBy(logged, ({ atMs }) => atMs);
	return arriving.filter((hit) => {
		const known = knownAt.get(hit.atMs);
		if (!known) knownAt.set(hit.atMs, [hit]);
		else if (known.some((one) => isSame(one, hit))) return false;
		else known.push(hit);
		return true;
	});
}

/** Ignores what channel rules and later versions of Caskade may derive differently. */
function isSame(a: PastHit, b: PastHit): boolean {
	const content = ({ body: { url, referrer, title, events, cid } }: PastHit) =>
		JSON.stringify([url, referrer, title, events, cid]);
	return a.text === b.text || content(a) === content(b);
}
