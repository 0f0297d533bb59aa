import { namesCustomer } from '../../../domain/ownership.ts';
import { apply, type Profile } from '../../../domain/profile.ts';
import type { SharedKeys } from '../../../domain/shared-key.ts';
import {
	type ArrivingHit,
	continuesVisit,
	type HitRecord,
	hitEntry,
	type StoredHit,
} from '../../../domain/stored-hit.ts';
import { ConcurrentChangeError } from '../../../errors.ts';
import { ask, type Query, type Row, type Steps, sql, values } from '../../steps.ts';
import { unique } from '../../unique.ts';
import {
	assignEvents,
	assignLater,
	type ContestedEvent,
	knownLinks,
	linksOfHit,
	lockContested,
	newLinks,
	perhapsShared,
	saveLinks,
} from '../owners/identity-links.ts';
import { lookAtShown } from '../owners/shared-keys.ts';
import {
	derivedOf,
	findErased,
	issuedVid,
	loadSuccessors,
	lockDerived,
} from '../profiles/derived-visitors.ts';
import { refold } from '../profiles/refold.ts';
import {
	findOwning,
	LoadedProfiles,
	loadVisitors,
	loadVisits,
	returningAmong,
	saveVisitors,
	saveVisits,
} from '../profiles/stored-profiles.ts';
import { saveTouches, storedTouch } from '../profiles/touches.ts';
import { customersOf, type WhoseHits, whoseHits } from './whose-hits.ts';

/** A live hit that is older than its visitor's latest entry by less than this is stored just after that entry. */
const maxBehindMs = 60_000;

/** The visitors and visits of a transaction. The lock of a visitor covers its visits. */
interface WorkingSet {
	readonly loadedVisitors: LoadedProfiles;
	readonly loadedVisits: LoadedProfiles;
	/** Visitors that are not known and own events, see `findOwning`. */
	readonly returning: ReadonlySet<string>;
	/** Whom marks of erased visitors lead to. */
	readonly successors: ReadonlyMap<string, string>;
	/** What they become, by `vid` and `sid`. */
	readonly visitors: Map<string, Profile | null>;
	readonly visits: Map<string, { vid: string; profile: Profile | null }>;
	/** Visitors whose log gained an entry that is not its latest, or lost one. */
	readonly stale: Set<string>;
	readonly staleVisits: Set<string>;
	/** Existing links of these visitors to the keys of the hits. */
	readonly known: readonly Row[];
	/** Locked keys. New links to them, and changes of their events, are safe. */
	readonly keys: ReadonlySet<string>;
	readonly contested: readonly ContestedEvent[];
	readonly popular: readonly string[];
	/** Keys of the hits that too many share: to them, nobody has links. */
	readonly shared: SharedKeys;
	/** How many visitors have shown each of the others. */
	readonly showing: ReadonlyMap<string, number>;
}

interface VisitHit extends StoredHit {
	readonly atMs: number;
	readonly body: HitRecord;
	/** `body` as JSON text. */
	readonly text: string;
	readonly isFirstOfVisit: boolean;
}

/** Hits that are the latest of their visitors and visits. */
export interface LatestHits {
	readonly hits: readonly VisitHit[];
	/** The profiles of the hits' visitors. */
	readonly visitors: readonly (readonly [vid: string, profile: Profile | null])[];
	/** What is to be saved with them. */
	readonly others: readonly Query[];
}

/**
 * Stores hits of one account, in order of arrival, and brings the profiles of their visitors and visits up to date.
 * @param addLatest stores hits that are each the latest of their visitor
 * @returns for each hit the visitor and the visit that it belongs to
 */
export function* storeHits(
	hits: readonly ArrivingHit[],
	addLatest: (latest: LatestHits) => Steps<void> = addAtOnce,
): Steps<StoredHit[]> {
	const whose = yield* whoseHits(hits);
	const working = yield* load(whose);
	const placed = whose.hits.map((hit) => place(working, hit));
	// The visitor that it presents, or whom its seed leads to, has been erased or stored since. Another may be another customer's.
	if (placed.some(({ vid }, index) => vid !== (whose.decided[index] ?? vid)))
		throw new ConcurrentChangeError('whose a hit is has changed');
	const links = newLinks(
		placed
			.flatMap((hit) => linksOfHit(hit.vid, hit.atMs, hit.body))
			.filter(({ key }) => !working.shared.has(key)),
		working.known,
	);
	// Its visitor or link was deleted after the look-up without a lock.
	if (links.some(({ key }) => !working.keys.has(key)))
		throw new ConcurrentChangeError('a visitor was erased');
	// What its profile left out may be in it now.
	for (const { vid } of links) if (working.loadedVisitors.hidden.has(vid)) working.stale.add(vid);
	const visitors = changedOf(
		working.visitors,
		placed.map(({ vid }) => vid),
	);
	const others = [
		saveLinks(links, working.shared),
		saveTouches(placed.flatMap((hit) => storedTouch(hit, hit.isFirstOfVisit))),
		saveVisits(
			changedOf(
				working.visits,
				placed.map(({ sid }) => sid),
			),
		),
	];
	const latest = { hits: placed, visitors, others };
	const stored = placed.map(({ vid, sid }, index) => {
		const first = whose.firstVids.get(index) ?? firstVidOf(whose.hits[index] as ArrivingHit, working);
		return first === undefined || first === vid ? { vid, sid } : { vid, sid, firstVid: first };
	});
	if (working.contested.length + working.popular.length + working.stale.size === 0) {
		yield* addLatest(latest);
		yield* lookAtShown(perhapsShared(links, working));
		return stored;
	}
	// First, because `refold` marks existing rows. Profiles that wait for the background show their latest entry at once.
	yield* addAtOnce(latest);
	yield* lookAtShown(perhapsShared(links, working));
	yield* assignLater(working.popular, links);
	for (const vid of yield* assignEvents(working.contested)) working.stale.add(vid);
	yield* refold([...working.stale], [...working.staleVisits]);
	return stored;
}

function* addAtOnce({ hits, visitors, others }: LatestHits): Steps<void> {
	yield [insertHits(hits), saveVisitors(visitors), ...others];
}

export function insertHits(hits: readonly Omit<VisitHit, 'body' | 'isFirstOfVisit'>[]): Query {
	const rows = hits.map(({ vid, sid, atMs, text }) => [vid, sid, atMs, text]);
	return sql`INSERT INTO @hit (vid, sid, at, body) ${values(rows)} /* store hits */`;
}

/** The visitors, or visits, that the hits belong to. Others may be loaded too, and are not written. */
function changedOf<Item>(items: ReadonlyMap<string, Item>, ids: readonly string[]) {
	return unique(ids).map((id) => [id, items.get(id) as Item] as const);
}

/** Locks and loads everything that the hits need, in the lock order of `docs/decisions/0009`. */
function* load({ hits, gaining, known: before, shared: sharedCids }: WhoseHits): Steps<WorkingSet> {
	const vids = unique(hits.map(({ vid }) => vid));
	const derived = derivedOf(hits);
	const all = unique([
		...vids,
		...derived.map(({ vid }) => vid),
		...hits.map((hit) => firstVidWithoutCustomer(hit, sharedCids)),
	]);
	const links = hits
		.flatMap((hit) => linksOfHit(hit.vid ?? hit.derived?.vid ?? hit.freshVid, hit.atMs, hit.body))
		.filter(({ key }) => !sharedCids.has(key));
	// Most cids are already linked to their visitor and need no lock. Tids are new, and so is everything of a new visitor.
	const maybeKnown = links.filter(({ vid, key }) => key.startsWith('c:') && all.includes(vid));
	const keys = new Set(newLinks(links, before).map(({ key }) => key));
	const changing = unique(gaining.map(({ vid }) => vid)).filter((vid) => vids.includes(vid));
	const contested = yield* lockContested([...keys], { changing });
	const { events, vids: contenders, popular, showing } = contested;
	const { visitors, erased, owning, visits, known, again } = yield* ask({
		lock: lockDerived(derived),
		visitors: loadVisitors(unique([...all, ...contenders])),
		erased: findErased(derived),
		owning: findOwning(unique(derived.map(({ vid }) => vid))),
		again: customersOf(gaining),
		visits: loadVisits(unique(hits.map(({ sid }) => sid))),
		// Look them up again, now that nobody can delete them.
		known: knownLinks(maybeKnown.filter(({ key }) => !keys.has(key))),
	});
	if (again.some(({ another }) => Number(another) === 1))
		throw new ConcurrentChangeError('a visitor has shown another customer');
	const { successors, rows, owning: owningToo } = yield* loadSuccessors(erased);
	const loaded = [...visitors, ...rows];
	const loadedVisitors = new LoadedProfiles(loaded);
	const profiles = loadedVisitors.profiles;
	const presented = new Set(visits.map(({ sid }) => sid));
	// Running visits that the page no longer presents.
	const current = hits.flatMap((hit) => {
		const visit = profiles.get(vidOf(hit, profiles, successors))?.visit;
		return visit && !presented.has(visit.sid) && continuesVisit(visit.lastHitAtMs, hit.atMs)
			? [visit.sid]
			: [];
	});
	const others = current.length > 0 ? yield* loadVisits(unique(current)) : [];
	// A visit of another visitor is not locked and may change or be erased at any time, so it is ignored.
	const own = [...visits, ...others].filter(({ vid }) => profiles.has(String(vid)));
	const loadedVisits = new LoadedProfiles(own);
	return {
		loadedVisitors,
		loadedVisits,
		returning: returningAmong([...owning, ...owningToo], loaded),
		successors,
		visitors: new Map(profiles),
		visits: new Map(
			own.map(({ sid, vid }) => [
				String(sid),
				{ vid: String(vid), profile: loadedVisits.profiles.get(String(sid)) ?? null },
			]),
		),
		stale: new Set(),
		staleVisits: new Set(),
		known,
		keys,
		contested: events,
		popular,
		shared: sharedCids.union(contested.shared),
		showing,
	};
}

/** The visitor that the browser was first, of hits that do not say who shows it. */
function firstVidWithoutCustomer({ firstVid = null, body }: ArrivingHit, shared: SharedKeys): string | null {
	return namesCustomer(body.cid, shared) ? null : firstVid;
}

function firstVidOf(hit: ArrivingHit, { visitors, shared }: WorkingSet): string | undefined {
	const first = firstVidWithoutCustomer(hit, shared);
	return first !== null && visitors.has(first) ? first : undefined;
}

/** Whose a hit is: a known visitor's, else of the one whom its seed leads to, else a new one's. */
function vidOf(
	{ vid, derived, freshVid }: ArrivingHit,
	known: ReadonlyMap<string, unknown>,
	successors: ReadonlyMap<string, string>,
): string {
	if (vid !== null && known.has(vid)) return vid;
	return derived ? issuedVid(derived, successors) : freshVid;
}

/** Finds the visitor and the visit of a hit, and adds the hit to both if it is their latest entry. */
function place(working: WorkingSet, hit: ArrivingHit): VisitHit {
	const { loadedVisitors, loadedVisits } = working;
	const vid = vidOf(hit, working.visitors, working.successors);
	const profile = working.visitors.get(vid) ?? null;
	const sid = sidOf(working, hit, vid, profile);
	const visit = working.visits.get(sid)?.profile ?? null;
	const atMs = momentOf(hit, [
		profile?.lastAtMs,
		visit?.lastAtMs,
		loadedVisitors.foldedToMs.get(vid),
		loadedVisits.foldedToMs.get(sid),
	]);
	const isFirstOfVisit = visit === null;
	const text = hit.text ?? JSON.stringify(hit.body);
	const placed = { vid, sid, atMs, body: hit.body, text, isFirstOfVisit };
	const entry = hitEntry(placed);
	const isLatest = loadedVisitors.isLatest(vid, entry, profile);
	// Who comes back needs a row even though its log is to be read.
	if (isLatest) working.visitors.set(vid, apply(profile, entry));
	if (!isLatest || working.returning.has(vid)) working.stale.add(vid);
	if (loadedVisits.isLatest(sid, entry, visit))
		working.visits.set(sid, { vid, profile: apply(visit, entry) });
	else {
		working.stale.add(vid);
		working.staleVisits.add(sid);
	}
	return placed;
}

/**
 * The time of a live hit. If the clock puts it slightly before the latest entry, it gets a time just after that entry.
 * So two hits in one millisecond, or a clock that is corrected, need no replay.
 */
function momentOf({ atMs }: ArrivingHit, knownMs: readonly (number | undefined)[]): number {
	const lastMs = Math.max(...knownMs.map((known) => known ?? Number.NEGATIVE_INFINITY));
	return atMs <= lastMs && lastMs - atMs < maxBehindMs ? lastMs + 1 : atMs;
}

function sidOf(working: WorkingSet, hit: ArrivingHit, vid: string, profile: Profile | null): string {
	const presented = hit.sid === null ? undefined : working.visits.get(hit.sid);
	if (hit.sid !== null && presented?.vid === vid)
		if (continuesVisit(presented.profile?.lastAtMs ?? 0, hit.atMs)) return hit.sid;
	if (profile?.visit && continuesVisit(profile.visit.lastHitAtMs, hit.atMs)) return profile.visit.sid;
	return hit.freshSid;
}
