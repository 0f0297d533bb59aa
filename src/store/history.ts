import { hash } from 'node:crypto';
import { apply, type Profile } from '../visitors/profile.ts';
import {
	assignEvents,
	assignLater,
	type Claim,
	type ContestedEvent,
	claimsOf,
	contest,
	eventKeys,
	holdersOf,
	knownClaims,
	newClaims,
	ownersOf,
	saveClaims,
	whoHolds,
} from './claims.ts';
import type { Query, Row, Steps } from './steps.ts';
import { OvertakenError, type SubscriptionEvent } from './store.ts';
import {
	goesOn,
	type HitBody,
	hitEntry,
	insertHits,
	joinEvents,
	loadVisitors,
	refold,
	saveVisitors,
	saveVisits,
	unique,
} from './visitor-log.ts';

/** A hit that happened at some time. */
export interface HistoryHit {
	readonly vid: string;
	/** The visit where history names it; null: the visitor's hits without one are cut where 30 minutes are between two. */
	readonly sid: string | null;
	readonly atMs: number;
	readonly body: HitBody;
}

export type HistoryEvent = SubscriptionEvent & { readonly receivedAtMs: number };

/** What of a piece of history was not stored before. */
export interface StoredHistory<Event> {
	readonly hits: number;
	readonly events: number;
	/** Events whose `tid` is stored with other content. */
	readonly conflicts: readonly Event[];
}

/**
 * Stores hits and subscription events of an account with their times. It may be in any order and may come again: the
 * same visits, joins and profiles follow, and what is stored is not stored twice.
 */
export function* storeHistory<Event extends HistoryEvent>(
	hits: readonly HistoryHit[],
	events: readonly Event[],
): Steps<StoredHistory<Event>> {
	const claims = hits.flatMap(({ vid, atMs, body }) => claimsOf(vid, atMs, body));
	const [, before = []] = yield [{ lock: 'import' }, knownClaims(claims)];
	const claimed = new Set(newClaims(claims, before).map(({ key }) => key));
	const keys = eventKeys(events);
	yield [claimed.size > 0 ? { lock: 'exclusive', keys: [...claimed, ...keys] } : { lock: 'shared', keys }];
	const { added, conflicts } = yield* insertPastEvents(events);
	const contested = yield* contest([...claimed]);
	const holders = yield* whoHolds(added);
	const isAdded = new Set(added.map(({ tid }) => tid));
	const [visitors = [], known = []] = yield [
		loadVisitors(unique([...hits.map(({ vid }) => vid), ...contested.vids, ...holders])),
		knownClaims(claims),
	];
	const fresh = newClaims(claims, known);
	if (fresh.some(({ key }) => !claimed.has(key))) throw new OvertakenError('a visitor was erased');
	const storedHits = yield* storePastHits(hits, {
		visitors: new Set(visitors.map(({ vid }) => String(vid))),
		claims: fresh,
		contested: contested.events.filter(({ tid }) => !isAdded.has(tid)),
		popular: contested.popular,
	});
	yield* joinPastEvents(added);
	return { hits: storedHits, events: added.length, conflicts };
}

/** What is locked, and can be worked on. */
interface Locked {
	/** Those who are known already. */
	readonly visitors: ReadonlySet<string>;
	readonly claims: readonly Claim[];
	readonly contested: readonly ContestedEvent[];
	readonly popular: readonly string[];
}

/** Entries of logs that an import reads in one transaction to make profiles anew, at most. */
const mostReplayed = 5000;

/** A hit that is in the log, or is to be. */
interface PastHit extends HistoryHit {
	/** `body` as JSON text; orders hits of the same moment. */
	readonly text: string;
}

interface LoggedHit extends PastHit {
	readonly id: number;
	readonly sid: string;
}

/** Hits with the visits that they belong to. */
type PlacedHit = PastHit & { readonly sid: string };

function* storePastHits(arriving: readonly HistoryHit[], locked: Locked): Steps<number> {
	const hitsOf = Map.groupBy(arriving.map(toPastHit).sort(compareHits), ({ vid }) => vid);
	const vids = [...hitsOf.keys()];
	const known = locked.visitors.intersection(new Set(vids));
	const [logged = []] = yield [
		{
			sql: 'SELECT id, vid, sid, at, body FROM @hit WHERE vid IN ?list /* known history */',
			values: [[...known]],
		},
	];
	const loggedOf = Map.groupBy(logged.map(toLoggedHit), ({ vid }) => vid);
	const merged = vids.map((vid) => mergeLog(loggedOf.get(vid) ?? [], hitsOf.get(vid) as PastHit[]));
	const added = merged.flatMap((one) => one.added);
	if (added.length === 0) return 0;
	yield [insertHits(added), ...merged.flatMap((one) => one.changes), saveClaims(locked.claims)];
	yield* assignLater(locked.popular, locked.claims);
	const moved = yield* assignEvents(locked.contested);
	const stale = moved.union(new Set(added.map(({ vid }) => vid)).intersection(known));
	yield saveNewVisitors(added.filter(({ vid }) => !stale.has(vid)));
	if (stale.size > 0) yield* refold([...stale], unique(added.map(({ sid }) => sid)), mostReplayed);
	return added.length;
}

/** Saves the profiles of visitors, and of their visits, of whom the log has these hits and nothing else. */
function saveNewVisitors(hits: readonly PlacedHit[]): Query[] {
	const visitors = new Map<string, Profile>();
	const visits = new Map<string, { vid: string; profile: Profile }>();
	for (const hit of hits) {
		const { vid, sid } = hit;
		const entry = hitEntry(hit);
		visitors.set(vid, apply(visitors.get(vid) ?? null, entry));
		visits.set(sid, { vid, profile: apply(visits.get(sid)?.profile ?? null, entry) });
	}
	return [saveVisitors([...visitors]), saveVisits([...visits])];
}

function toPastHit(hit: HistoryHit): PastHit {
	const { vid, sid, atMs, body } = hit;
	return { vid, sid, atMs, body, text: JSON.stringify(body) };
}

function toLoggedHit(row: Row): LoggedHit {
	const text = String(row.body);
	return {
		id: Number(row.id),
		vid: String(row.vid),
		sid: String(row.sid),
		atMs: Number(row.at),
		body: JSON.parse(text),
		text,
	};
}

function compareHits(a: PastHit, b: PastHit): number {
	return a.atMs - b.atMs || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0);
}

/** Places hits among those that a visitor's log holds already, which may change visits that nothing named. */
function mergeLog(
	logged: readonly LoggedHit[],
	arriving: readonly PastHit[],
): { added: PlacedHit[]; changes: Query[] } {
	const startOf = new Map<string, number>();
	for (const { sid, atMs } of logged) startOf.set(sid, Math.min(startOf.get(sid) ?? atMs, atMs));
	const isCut = ({ vid, sid }: LoggedHit) => sid === cutSid(vid, startOf.get(sid) as number);
	const before = new Map<PastHit, LoggedHit>(
		logged.map((hit) => [isCut(hit) ? { ...hit, sid: null } : hit, hit]),
	);
	const fresh = new Set<PastHit>(withoutRepeats(logged, arriving));
	if (fresh.size === 0) return { added: [], changes: [] };
	const all = [...before.keys(), ...fresh].sort(compareHits);
	const placed = cutVisits(all);
	const changes: Query[] = [];
	const gone = new Set(startOf.keys());
	for (const [index, { sid }] of placed.entries()) {
		gone.delete(sid);
		const known = before.get(all[index] as PastHit);
		if (known && known.sid !== sid)
			changes.push({ sql: 'UPDATE @hit SET sid = ? WHERE id = ? /* cut visits */', values: [sid, known.id] });
	}
	changes.push({ sql: 'DELETE FROM @visit WHERE sid IN ?list /* cut visits */', values: [[...gone]] });
	return { added: placed.filter((_, index) => fresh.has(all[index] as PastHit)), changes };
}

/** Gives hits of one visitor, in order of time, their visits. */
function cutVisits(hits: readonly PastHit[]): PlacedHit[] {
	let visit: { readonly sid: string; readonly lastAtMs: number } | null = null;
	return hits.map((hit) => {
		const { vid, sid, atMs } = hit;
		if (sid !== null) return { ...hit, sid };
		visit = { sid: visit && goesOn(visit.lastAtMs, atMs) ? visit.sid : cutSid(vid, atMs), lastAtMs: atMs };
		return { ...hit, sid: visit.sid };
	});
}

/**
 * Visits that nothing names are called after their visitor and their first hit, so that they are known again. They begin
 * as the vid does: an index is written at one place where visitors are stored in its order.
 */
function cutSid(vid: string, startedAtMs: number): string {
	return vid.slice(0, 4) + hash('sha256', `${vid} ${startedAtMs}`).slice(4, 32);
}

/** The arriving hits that are neither in the log nor come twice. */
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

/** Without what rules of channels and later versions of Caskade may see otherwise. */
function isSame(a: PastHit, b: PastHit): boolean {
	const content = ({ body: { url, referrer, title, events, cid } }: PastHit) =>
		JSON.stringify([url, referrer, title, events, cid]);
	return a.text === b.text || content(a) === content(b);
}

function* insertPastEvents<Event extends HistoryEvent>(
	events: readonly Event[],
): Steps<{ added: Event[]; conflicts: Event[] }> {
	const [stored = []] = yield [
		{
			sql: 'INSERT INTO @subscription_event (tid, subid, cid, evt, rvn, received_at) ?rows ON CONFLICT (tid) DO NOTHING RETURNING tid /* store history */',
			rows: events.map(({ tid, subid, cid, evt, rvn, receivedAtMs }) => [
				...[tid, subid, cid, evt, rvn, receivedAtMs],
			]),
		},
	];
	const fresh = new Set(stored.map(({ tid }) => tid));
	const { added = [], repeated = [] } = Object.groupBy(events, ({ tid }) =>
		fresh.delete(tid) ? 'added' : 'repeated',
	);
	const [known = []] = yield [
		{
			sql: 'SELECT tid, subid, cid, evt, rvn FROM @subscription_event WHERE tid IN ?list /* conflicts */',
			values: [unique(repeated.map(({ tid }) => tid))],
		},
	];
	const rowOf = new Map(known.map((row) => [row.tid, row]));
	const conflicts = repeated.filter(({ tid, subid, cid, evt, rvn }) => {
		const row = rowOf.get(tid);
		return row?.subid !== subid || row.cid !== cid || row.evt !== evt || Number(row.rvn) !== rvn;
	});
	return { added, conflicts };
}

function* joinPastEvents(added: readonly HistoryEvent[]): Steps<void> {
	const [holders = []] = yield [holdersOf(added)];
	yield* joinEvents(
		added.map(({ receivedAtMs, ...event }) => ({ ...event, received_at: receivedAtMs })),
		ownersOf(added, holders),
	);
}
