import type { ArrivingHit, HitRecord, StoredHit } from '../../../domain/hit.ts';
import { type Owner, ownerOf } from '../../../domain/ownership.ts';
import {
	apply,
	compareEntries,
	type HitEntry,
	isLatest,
	type LogEntry,
	type Profile,
} from '../../../domain/profile.ts';
import { type StoredEvent, subscriptionEntry } from '../../../domain/subscription-event.ts';
import { minuteMs } from '../../../durations.ts';
import { ConcurrentChangeError } from '../../../errors.ts';
import { type LatestHits, type Query, type Row, rowsOf, type Steps } from '../../steps.ts';
import {
	assignEvents,
	assignLater,
	type ContestedEvent,
	type IdentityLink,
	knownLinks,
	linksOfHit,
	lockContested,
	newLinks,
	saveLinks,
} from '../owners/identity-links.ts';
import { followSubscriptions, setOwners } from '../owners/subscription-owners.ts';
import {
	correctTouches,
	type LoggedHit,
	loadTouches,
	saveTouches,
	storedTouch,
	touchesOf,
} from '../profiles/touches.ts';
import { addTasks } from '../tasks.ts';

/** A visit ends after this long without a hit. */
export const visitTimeoutMs = 30 * minuteMs;
/** A live hit that is older than its visitor's latest entry by less than this is stored just after that entry. */
const maxBehindMs = 60_000;

/** The visitors and visits of a transaction, by `vid` and `sid`. The lock of a visitor covers its visits. */
interface Working {
	readonly visitors: Map<string, Profile | null>;
	readonly visits: Map<string, { vid: string; profile: Profile | null }>;
	/** How far the background has replayed the profiles that it is rebuilding, by `vid` and `sid`. */
	readonly foldedToMs: ReadonlyMap<string, number>;
	/** Visitors whose log gained an entry that is not its latest, or lost one. */
	readonly stale: Set<string>;
	readonly staleVisits: Set<string>;
	/** Existing links of these visitors to the keys of the hits. */
	readonly known: readonly Row[];
	/** Locked keys. New links to them, and changes of their events, are safe. */
	readonly keys: ReadonlySet<string>;
	readonly contested: readonly ContestedEvent[];
	readonly popular: readonly string[];
}

interface VisitHit extends StoredHit {
	readonly atMs: number;
	readonly body: HitRecord;
	/** The same as JSON text. */
	readonly text: string;
	readonly isFirstOfVisit: boolean;
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
	const working = yield* load(hits);
	const placed = hits.map((hit) => place(working, hit));
	const links = newLinks(
		placed.flatMap((hit) => linksOfHit(hit.vid, hit.atMs, hit.body)),
		working.known,
	);
	// Its visitor or link was deleted after the look-up without a lock.
	if (links.some(({ key }) => !working.keys.has(key)))
		throw new ConcurrentChangeError('a visitor was erased');
	const visitors = changedOf(
		working.visitors,
		placed.map(({ vid }) => vid),
	).map(toVisitorRow);
	const others = [
		saveLinks(links),
		saveTouches(placed.flatMap((hit) => storedTouch(hit, hit.isFirstOfVisit))),
		saveVisits(
			changedOf(
				working.visits,
				placed.map(({ sid }) => sid),
			),
		),
	];
	const latest = { hits: placed, visitors, others };
	const stored = placed.map(({ vid, sid }) => ({ vid, sid }));
	if (working.contested.length + working.popular.length + working.stale.size === 0) {
		yield* addLatest(latest);
		return stored;
	}
	// First, because `refold` marks existing rows. Profiles that wait for the background show their latest entry at once.
	yield* addAtOnce(latest);
	yield* assignLater(working.popular, links);
	for (const vid of yield* assignEvents(working.contested)) working.stale.add(vid);
	yield* refold([...working.stale], [...working.staleVisits]);
	return stored;
}

function* addAtOnce({ hits, visitors, others }: LatestHits): Steps<void> {
	yield [insertHits(hits), upsertVisitors(visitors), ...others];
}

/** The visitors, or visits, that the hits belong to. Others may be loaded too, and are not written. */
function changedOf<Item>(items: ReadonlyMap<string, Item>, ids: readonly string[]) {
	return unique(ids).map((id) => [id, items.get(id) as Item] as const);
}

/** Locks and loads everything that the hits need, in the lock order of `docs/decisions/0011`. */
function* load(hits: readonly ArrivingHit[]): Steps<Working> {
	const vids = unique(hits.map(({ vid }) => vid));
	const links = hits.flatMap(({ vid, freshVid, atMs, body }) => linksOfHit(vid ?? freshVid, atMs, body));
	// Most cids are already linked to their visitor and need no lock. Tids are new, and so is everything of a new visitor.
	const maybeKnown = links.filter(({ vid, key }) => key.startsWith('c:') && vids.includes(vid));
	const [before = []] = maybeKnown.length > 0 ? yield [knownLinks(maybeKnown)] : [];
	const keys = new Set(newLinks(links, before).map(({ key }) => key));
	const { events, vids: contenders, popular } = yield* lockContested([...keys]);
	const [visitors = [], visits = [], known = []] = yield [
		loadVisitors(unique([...vids, ...contenders])),
		loadVisits(unique(hits.map(({ sid }) => sid))),
		// Look them up again, now that nobody can delete them.
		knownLinks(maybeKnown.filter(({ key }) => !keys.has(key))),
	];
	const profiles = new Map(visitors.map((row) => [String(row.vid), parseProfile(row)]));
	const presented = new Set(visits.map(({ sid }) => sid));
	// Running visits that the page no longer presents.
	const current = hits.flatMap(({ vid, atMs }) => {
		const visit = vid === null ? null : profiles.get(vid)?.visit;
		return visit && !presented.has(visit.sid) && continuesVisit(visit.lastHitAtMs, atMs) ? [visit.sid] : [];
	});
	const [others = []] = current.length > 0 ? yield [loadVisits(unique(current))] : [];
	// A visit of another visitor is not locked and may change or be erased at any time, so it is ignored.
	const own = [...visits, ...others].filter(({ vid }) => profiles.has(String(vid)));
	return {
		visitors: profiles,
		visits: new Map(
			own.map((row) => [String(row.sid), { vid: String(row.vid), profile: parseProfile(row) }]),
		),
		foldedToMs: foldedToOf([...visitors, ...own]),
		stale: new Set(),
		staleVisits: new Set(),
		known,
		keys,
		contested: events,
		popular,
	};
}

/** Finds the visitor and the visit of a hit, and adds the hit to both if it is their latest entry. */
function place(working: Working, hit: ArrivingHit): VisitHit {
	const vid = hit.vid !== null && working.visitors.has(hit.vid) ? hit.vid : hit.freshVid;
	const profile = working.visitors.get(vid) ?? null;
	const sid = sidOf(working, hit, vid, profile);
	const visit = working.visits.get(sid)?.profile ?? null;
	const atMs = momentOf(hit, [
		profile?.lastAtMs,
		visit?.lastAtMs,
		working.foldedToMs.get(vid),
		working.foldedToMs.get(sid),
	]);
	const isFirstOfVisit = visit === null;
	const text = hit.text ?? JSON.stringify(hit.body);
	const placed = { vid, sid, atMs, body: hit.body, text, isFirstOfVisit };
	const entry = hitEntry(placed);
	const isLater = (known: Profile | null, id: string) =>
		isLatest(known, entry) && atMs > (working.foldedToMs.get(id) ?? Number.NEGATIVE_INFINITY);
	if (isLater(profile, vid)) working.visitors.set(vid, apply(profile, entry));
	else working.stale.add(vid);
	if (isLater(visit, sid)) working.visits.set(sid, { vid, profile: apply(visit, entry) });
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

function sidOf(working: Working, hit: ArrivingHit, vid: string, profile: Profile | null): string {
	const presented = hit.sid === null ? undefined : working.visits.get(hit.sid);
	if (hit.sid !== null && presented?.vid === vid)
		if (continuesVisit(presented.profile?.lastAtMs ?? 0, hit.atMs)) return hit.sid;
	if (profile?.visit && continuesVisit(profile.visit.lastHitAtMs, hit.atMs)) return profile.visit.sid;
	return hit.freshSid;
}

/** Whether a visit whose last hit was at `lastHitAtMs` still runs at `atMs`. */
export function continuesVisit(lastHitAtMs: number, atMs: number): boolean {
	return Math.abs(atMs - lastHitAtMs) < visitTimeoutMs;
}

/** A hit as profiles know it. @param hit.text the body as JSON, as it is stored */
export function hitEntry({
	sid,
	atMs,
	body,
	text,
}: Pick<VisitHit, 'sid' | 'atMs' | 'body' | 'text'>): HitEntry {
	return {
		type: 'hit',
		atMs,
		sid,
		page: body.page,
		channel: body.channel,
		device: body.device,
		events: body.events.map(({ name }) => name),
		tieBreak: text,
	};
}

/**
 * Joins subscription events that have just been stored to the visitors who hold their `tid` or `cid`, or whom their
 * subscriptions belong to.
 * @param owners whom events name, by `tid`
 * @param subscribers whom subscriptions belonged to before, by `subid`
 * @param hasVisitors whether the transaction has locked visitors
 */
export function* joinEvents(
	events: readonly StoredEvent[],
	owners: ReadonlyMap<string, Owner>,
	subscribers: ReadonlyMap<string, string>,
	hasVisitors = false,
): Steps<void> {
	const named = events.filter(({ tid }) => owners.has(tid));
	yield [setOwners(named.map(({ tid }) => [tid, owners.get(tid)]))];
	yield* joinNamedEvents(events, owners, subscribers, hasVisitors);
}

/** The same for events that were stored with the visitor whom they name. */
export function* joinNamedEvents(
	events: readonly StoredEvent[],
	owners: ReadonlyMap<string, Owner>,
	subscribers: ReadonlyMap<string, string>,
	hasVisitors = false,
): Steps<void> {
	// Events of a subscription that name nobody follow its new owner, the stored ones included.
	const newlyOwned = new Set(
		events
			.filter(({ tid, subid }) => owners.has(tid) && owners.get(tid)?.vid !== subscribers.get(subid))
			.map(({ subid }) => subid),
	);
	const followed = yield* followSubscriptions([...newlyOwned]);
	const joined = events
		.flatMap((event) => {
			const { tid, subid } = event;
			const owner = ownerOf(owners.get(tid), newlyOwned.has(subid) ? undefined : subscribers.get(subid));
			return owner ? [{ owner, vid: owner.vid, entry: subscriptionEntry(event) }] : [];
		})
		.sort((a, b) => compareEntries(a.entry, b.entry));
	const vids = unique([...joined.map(({ vid }) => vid), ...followed]);
	const { rows, busy } = hasVisitors
		? yield* loadFreeVisitors(vids)
		: { rows: yield* rowsOf(loadVisitors(vids)), busy: [] };
	const known = new Map(rows.map((row) => [String(row.vid), parseProfile(row)]));
	const foldedToMs = foldedToOf(rows);
	const visitors = new Map(known);
	const stale = new Set([...followed, ...busy]);
	for (const { vid, entry } of joined) {
		// Retention has deleted the hits of some visitors and kept their links; they have no profile.
		if (!known.has(vid)) continue;
		// Entries of one moment keep their order.
		if (isLatest(known.get(vid) ?? null, entry) && entry.atMs > (foldedToMs.get(vid) ?? nothingFolded))
			visitors.set(vid, apply(visitors.get(vid) ?? null, entry));
		else stale.add(vid);
	}
	yield [
		setOwners(joined.filter(({ owner }) => owner.named === 0).map(({ owner, entry }) => [entry.tid, owner])),
		saveVisitors([...visitors].filter(([vid]) => !stale.has(vid))),
	];
	if (stale.size > 0) yield* refold([...stale]);
}

/** The most log entries that a request may replay to rebuild profiles. */
const maxReplayed = 500;

/**
 * Rebuilds profiles from the log: at once if the logs are short and nobody else has locked the visitors, else in the
 * background, see `folding.ts`. The rows of the visitors and visits must exist.
 * @param sids the visits to rebuild
 * @param max the number of log entries that may be replayed
 * @returns how many profiles of visitors and visits differed from the log, among those rebuilt at once
 */
export function* refold(
	vids: readonly string[],
	sids: readonly string[] = [],
	max = maxReplayed,
): Steps<number> {
	if (vids.length === 0) return 0;
	// Lock before reading the log, so that no hit is added in between.
	const { rows, busy } = yield* loadFreeVisitors(vids);
	const free = vids.filter((vid) => !busy.includes(vid));
	const short = yield* withShortLogs(free, max);
	const isShort = new Set(short);
	yield [
		addTasks(busy.map((vid) => `f:${vid}`)),
		...waitToBeFolded(
			free.filter((vid) => !isShort.has(vid)),
			sids,
		),
	];
	return short.length > 0 ? yield* replay(short, rows) : 0;
}

/** The visitors whose logs together have at most `max` entries. All visitors are settled. */
export function* withShortLogs(vids: readonly string[], max: number): Steps<string[]> {
	const [, entries = []] = yield [{ settle: vids }, countEntries([...vids].sort().slice(0, max / 5), max)];
	let left = max;
	const short: string[] = [];
	for (const row of entries) {
		if (Number(row.entries) > left) continue;
		left -= Number(row.entries);
		short.push(String(row.vid));
	}
	return short;
}

/** The number of log entries of each visitor. Counting stops at one more than `max`. */
function countEntries(vids: readonly string[], max: number): Query {
	const count = (table: string, at: string) =>
		`(SELECT count(*) FROM (SELECT 1 FROM @${table} WHERE vid = list.key ORDER BY ${at} LIMIT ${max + 1}) AS first)`;
	// The background handles links that lost their hit, in log order. Visitors being erased are not rebuilt.
	const never = `CASE WHEN EXISTS (SELECT 1 FROM @claim AS claim WHERE claim.vid = list.key AND unfounded IS NOT NULL) OR EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || list.key) THEN ${max + 1} ELSE 0 END`;
	return {
		sql: `SELECT key AS vid, ${count('hit', 'at')} + ${count('subscription_event', 'received_at')} + ${never} AS entries FROM ?each AS list /* count entries */`,
		values: [vids],
	};
}

/** The value of `folded_to` before anything is replayed. */
export const nothingFolded = Number.MIN_SAFE_INTEGER;

/** Queues visitors, and the given visits, for the background. */
export function waitToBeFolded(vids: readonly string[], sids: readonly string[]): Query[] {
	const wait = `SET folded_to = ${nothingFolded}, refolded = NULL`;
	return [
		{ sql: `UPDATE @visitor ${wait} WHERE vid IN ?list /* wait */`, values: [vids], wakes: true },
		{ sql: `UPDATE @visit ${wait} WHERE sid IN ?list AND vid IN ?list /* wait */`, values: [sids, vids] },
	];
}

/** How far the background has come, by `vid` or `sid`. @param rows loaded rows of visitors or visits */
export function foldedToOf(rows: readonly Row[]): Map<string, number> {
	const waiting = rows.filter(({ folded_to }) => folded_to !== null);
	return new Map(waiting.map(({ sid, vid, folded_to }) => [String(sid ?? vid), Number(folded_to)]));
}

/**
 * Rebuilds profiles from short logs. Deletes a visitor whose log has no hit left.
 * @param vids locked visitors
 * @param before the loaded rows; others may be among them
 * @returns how many profiles of visitors and visits differed from the log
 */
export function* replay(vids: readonly string[], before: readonly Row[]): Steps<number> {
	const [hits = [], events = [], visitsBefore = [], touchesBefore = []] = yield [
		{ sql: 'SELECT vid, sid, at, body FROM @hit WHERE vid IN ?list /* replay */', values: [vids] },
		{
			sql: 'SELECT vid, tid, subid, evt, rvn, received_at FROM @subscription_event WHERE vid IN ?list /* replay */',
			values: [vids],
		},
		{
			sql: 'SELECT sid, profile, folded_to FROM @visit WHERE sid IN (SELECT sid FROM @hit WHERE vid IN ?list) /* replay */',
			values: [vids],
		},
		loadTouches(vids),
	];
	const logged: LoggedHit[] = [];
	const visitors = new Map<string, LogEntry[]>();
	const visits = new Map<string, { vid: string; entries: LogEntry[] }>();
	for (const row of hits) {
		const [vid, sid, text] = [String(row.vid), String(row.sid), String(row.body)];
		const body = JSON.parse(text);
		const entry = hitEntry({ sid, atMs: Number(row.at), body, text });
		logged.push({ vid, entry, body });
		const entries = visitors.get(vid);
		if (entries) entries.push(entry);
		else visitors.set(vid, [entry]);
		const visit = visits.get(sid);
		if (visit) visit.entries.push(entry);
		else visits.set(sid, { vid, entries: [entry] });
	}
	for (const row of events) visitors.get(String(row.vid))?.push(subscriptionEntry(row as never));
	const profiles = [...visitors].map(([vid, entries]) => [vid, fold(entries)] as const);
	const visitProfiles = [...visits].map(
		([sid, { vid, entries }]) => [sid, { vid, profile: fold(entries) }] as const,
	);
	const stored = new Map([
		...before.map((row) => [row.vid, row.profile] as const),
		...visitsBefore.map((row) => [row.sid, row.profile] as const),
	]);
	const waiting = before.filter((row) => row.folded_to !== null).map(({ vid }) => String(vid));
	const waitingVisits = visitsBefore.filter((row) => row.folded_to !== null).map(({ sid }) => String(sid));
	const changedVisitors = profiles.filter(([vid, profile]) => stored.get(vid) !== JSON.stringify(profile));
	const changedVisits = visitProfiles.filter(
		([sid, { profile }]) => stored.get(sid) !== JSON.stringify(profile),
	);
	const replayed = new Set(vids);
	const gone = before.map(({ vid }) => String(vid)).filter((vid) => replayed.has(vid) && !visitors.has(vid));
	const touches = correctTouches(vids, touchesBefore, touchesOf(logged));
	yield [
		...isFolded(
			waiting.filter((vid) => replayed.has(vid)),
			waitingVisits,
		),
		saveVisitors(changedVisitors),
		saveVisits(changedVisits),
		{ sql: 'DELETE FROM @visitor WHERE vid IN ?list /* replay */', values: [gone] },
		...touches.queries,
	];
	return changedVisitors.length + changedVisits.length + gone.length + touches.changed;
}

/** The items whose profiles match the log. */
export function isFolded(vids: readonly string[], sids: readonly string[]): Query[] {
	const done = 'SET folded_to = NULL, refolded = NULL';
	return [
		{ sql: `UPDATE @visitor ${done} WHERE vid IN ?list /* folded */`, values: [vids] },
		{ sql: `UPDATE @visit ${done} WHERE sid IN ?list /* folded */`, values: [sids] },
	];
}

function fold(entries: LogEntry[]): Profile | null {
	return entries.sort(compareEntries).reduce<Profile | null>(apply, null);
}

/** The identity links of a stored hit. @param row `vid`, `at`, `body` */
export function linksOfRow(row: Row): IdentityLink[] {
	return linksOfHit(String(row.vid), Number(row.at), JSON.parse(String(row.body)));
}

/** Locks visitors, so that no hit is added to them before the transaction ends. */
export function lockVisitors(vids: readonly string[]): Query {
	return {
		sql: 'SELECT vid FROM @visitor WHERE vid IN ?list ORDER BY vid FOR UPDATE /* lock visitors */',
		values: [vids],
	};
}

/** Locks visitors and loads their profiles. */
export function loadVisitors(vids: readonly string[]): Query {
	return { sql: `${loadingVisitors} /* load visitors */`, values: [vids] };
}

const loadingVisitors =
	'SELECT vid, profile, folded_to FROM @visitor WHERE vid IN ?list ORDER BY vid FOR UPDATE';

/**
 * The same for a transaction that may have locked other visitors, so that waiting could be a deadlock.
 * @returns also the visitors that others have locked
 */
function* loadFreeVisitors(vids: readonly string[]): Steps<{ rows: readonly Row[]; busy: string[] }> {
	const [rows = [], all = []] = yield [
		{ sql: `${loadingVisitors} SKIP LOCKED /* load free visitors */`, values: [vids] },
		{ sql: 'SELECT vid FROM @visitor WHERE vid IN ?list /* load free visitors */', values: [vids] },
	];
	const free = new Set(rows.map(({ vid }) => vid));
	return { rows, busy: all.filter(({ vid }) => !free.has(vid)).map(({ vid }) => String(vid)) };
}

export function loadVisits(sids: readonly string[]): Query {
	return {
		sql: 'SELECT sid, vid, profile, folded_to FROM @visit WHERE sid IN ?list /* load visits */',
		values: [sids],
	};
}

export function insertHits(hits: LatestHits['hits']): Query {
	return {
		sql: 'INSERT INTO @hit (vid, sid, at, body) ?rows /* store hits */',
		rows: hits.map(({ vid, sid, atMs, text }) => [vid, sid, atMs, text]),
	};
}

type SavedVisitor = readonly [vid: string, profile: Profile | null];

export function saveVisitors(visitors: readonly SavedVisitor[]): Query {
	return upsertVisitors(visitors.map(toVisitorRow));
}

function toVisitorRow([vid, profile]: SavedVisitor): readonly [vid: string, profile: string] {
	return [vid, JSON.stringify(profile)];
}

function upsertVisitors(rows: LatestHits['visitors']): Query {
	return {
		sql: 'INSERT INTO @visitor (vid, profile) ?rows ON CONFLICT (vid) DO UPDATE SET profile = excluded.profile /* save visitors */',
		rows,
	};
}

export function saveVisits(
	visits: readonly (readonly [sid: string, visit: { vid: string; profile: Profile | null }])[],
): Query {
	return {
		sql: 'INSERT INTO @visit (sid, vid, profile) ?rows ON CONFLICT (sid) DO UPDATE SET profile = excluded.profile /* save visits */',
		rows: visits.map(([sid, { vid, profile }]) => [sid, vid, JSON.stringify(profile)]),
	};
}

export function parseProfile(row: Row): Profile | null {
	return JSON.parse(String(row.profile));
}

export function unique(values: readonly (string | null)[]): string[] {
	return [...new Set(values.filter((value) => value !== null))];
}
