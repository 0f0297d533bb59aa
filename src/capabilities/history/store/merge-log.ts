import { hash } from 'node:crypto';
import { continuesVisit, type HistoryHit, visitTimeoutMs } from '../../../core/domain/stored-hit.ts';
import { type Query, type Row, raw, rowsOf, type Steps, select } from '../../../core/store/steps.ts';
import { unique } from '../../../core/store/unique.ts';
import {
	type CrowdedMoment,
	digestOf,
	identityOf,
	isCrowded,
	type Moment,
	maxRead,
} from './crowded-moment.ts';

/** A hit that is in the log, or about to be. */
export interface PastHit extends HistoryHit {
	/** `body` as JSON text; orders hits of the same moment. */
	readonly text: string;
}

/** Hits with their visits. */
export type PlacedHit = PastHit & { readonly sid: string };

/** The changes to a visitor's log where hits arrive. */
export interface LogChanges {
	readonly added: readonly PlacedHit[];
	/** Visits whose id changes, because they have a new first hit or were merged into another. */
	readonly renamed: ReadonlyMap<string, string>;
}

/** Hits read on either side of the arriving ones, to find the visits that they continue. */
const maxAround = 200;

/**
 * The arriving hits of visitors with long logs that one transaction can merge, because few enough hits lie between
 * them. The others are left to the next.
 * @param crowd a crowded moment that was read
 * @returns also a crowded moment at which hits arrive, if it is another one
 */
export function* fitting<Hit extends HistoryHit>(
	hitsOf: ReadonlyMap<string, readonly Hit[]>,
	crowd: CrowdedMoment | undefined,
): Steps<{ fits: ReadonlySet<Hit>; crowded: Moment | undefined }> {
	const long = [...hitsOf.entries()].map(([vid, hits]) => {
		const times = hits.map(({ atMs }) => atMs);
		return { vid, hits, fromMs: Math.min(...times), toMs: Math.max(...times) };
	});
	const ends = yield* rowsOf(
		long.map(
			({ vid, fromMs, toMs }) =>
				select`vid, at FROM @hit WHERE vid = ${vid} AND at >= ${fromMs} AND at <= ${toMs} ORDER BY at LIMIT 1 OFFSET ${raw(maxRead)} /* fitting history */`,
		),
	);
	const endOf = new Map(ends.map(({ vid, at }) => [vid, Number(at)]));
	const parts = long.map(({ vid, hits, fromMs }) => {
		const endMs = endOf.get(vid) ?? Number.POSITIVE_INFINITY;
		const moment = { vid, atMs: fromMs };
		if (endMs > fromMs) return { fits: hits.filter(({ atMs }) => atMs < endMs), crowded: undefined };
		if (!isCrowded(crowd, moment)) return { fits: [], crowded: moment };
		return { fits: hits.filter(({ atMs }) => atMs === fromMs), crowded: undefined };
	});
	return {
		fits: new Set(parts.flatMap(({ fits }) => fits)),
		crowded: parts.find(({ crowded }) => crowded)?.crowded,
	};
}

/** The logs of visitors, whole. They must be read under the visitors' lock. */
export function knownHistory(vids: readonly string[]): Query {
	return select`vid, sid, at, body FROM @hit WHERE vid IN ${vids} /* known history */`;
}

/**
 * Merges arriving hits into the logs of their visitors.
 * @param logs.history rows of `knownHistory` for the visitors whose logs are not long
 * @param logs.long visitors whose logs are too long to be read whole
 * @param logs.crowd the only crowded moment at which hits may arrive
 */
export function* mergeLogs(
	arriving: ReadonlyMap<string, readonly PastHit[]>,
	known: ReadonlySet<string>,
	{
		history,
		long,
		crowd,
	}: {
		readonly history: readonly Row[];
		readonly long: ReadonlySet<string>;
		readonly crowd: CrowdedMoment | undefined;
	},
): Steps<LogChanges[]> {
	const logged = new Map<string, PlacedHit[]>();
	const rows = history.filter(({ vid }) => known.has(String(vid)));
	const near = yield* rowsOf(
		[...known.intersection(long)].flatMap((vid) => selectNear(vid, arriving.get(vid) ?? [], crowd)),
	);
	for (const row of [...rows, ...near]) {
		const hit = toLoggedHit(row);
		logged.getOrInsertComputed(hit.vid, () => []).push(hit);
	}
	const startOf = yield* startsOf(near);
	for (const { sid, atMs } of [...logged.values()].flat())
		if (!startOf.has(sid) || atMs < (startOf.get(sid) as number)) startOf.set(sid, atMs);
	return [...arriving].map(([vid, hits]) => {
		const stored = logged.get(vid) ?? [];
		return mergeLog(stored, withoutRepeats(stored, hits, crowd), startOf);
	});
}

/** The part of a long log where hits arrive. */
function selectNear(vid: string, hits: readonly PastHit[], crowd: CrowdedMoment | undefined): Query[] {
	const times = hits.map(({ atMs }) => atMs);
	const [fromMs, toMs] = [Math.min(...times), Math.max(...times)];
	// Of a crowded moment, some suffice to find its visits.
	const some = raw(`LIMIT ${maxAround} /* known history */`);
	const most = isCrowded(crowd, { vid, atMs: fromMs }) ? some : raw('/* known history */');
	const [beforeMs, afterMs] = [fromMs - visitTimeoutMs, toMs + visitTimeoutMs];
	return [
		select`vid, sid, at, body FROM @hit WHERE vid = ${vid} AND at < ${fromMs} AND at > ${beforeMs} ORDER BY at DESC ${some}`,
		select`vid, sid, at, body FROM @hit WHERE vid = ${vid} AND at >= ${fromMs} AND at <= ${toMs} ORDER BY at ${most}`,
		select`vid, sid, at, body FROM @hit WHERE vid = ${vid} AND at > ${toMs} AND at < ${afterMs} ORDER BY at ${some}`,
	];
}

/** The start of visits that were read only in part. */
function* startsOf(rows: readonly Row[]): Steps<Map<string, number>> {
	const starts =
		yield* select`key AS sid, (SELECT at FROM @hit WHERE sid = list.key ORDER BY at LIMIT 1) AS at FROM ${unique(rows.map(({ sid }) => String(sid)))} AS list /* starts of visits */`;
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
): LogChanges {
	const fresh = new Set<PastHit>(arriving);
	if (fresh.size === 0) return { added: [], renamed: new Map() };
	const cutSids = new Set(
		unique(logged.map(({ sid }) => sid)).filter(
			(sid) => sid === derivedSid(logged[0]?.vid as string, startOf.get(sid) as number),
		),
	);
	const added: PlacedHit[] = [];
	const renamed = new Map<string, string>();
	let cut: { readonly sid: string; readonly lastAtMs: number } | undefined;
	for (const hit of [...logged, ...fresh].sort(compareHits)) {
		const isNew = fresh.has(hit);
		if (hit.sid !== null && (isNew || !cutSids.has(hit.sid))) {
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
function withoutRepeats(
	logged: readonly PastHit[],
	arriving: readonly PastHit[],
	crowd: CrowdedMoment | undefined,
): PastHit[] {
	const moments = new Set(arriving.map(({ atMs }) => atMs));
	const nameOf = ({ atMs, body }: PastHit) => `${atMs} ${identityOf(body)}`;
	const known = new Set(logged.filter(({ atMs }) => moments.has(atMs)).map(nameOf));
	return arriving.filter((hit) => {
		const name = nameOf(hit);
		const isKnown = known.has(name) || (isCrowded(crowd, hit) && crowd.digests.has(digestOf(hit.body)));
		known.add(name);
		return !isKnown;
	});
}
