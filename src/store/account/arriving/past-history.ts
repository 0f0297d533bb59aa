import type { HistoryHit } from '../../../domain/hit.ts';
import { eventKeys } from '../../../domain/ownership.ts';
import { emptyProfile } from '../../../domain/profile.ts';
import {
	type Arrival,
	eventOf,
	type SubscriptionEvent,
	sameContent,
	storedEvent,
	storedEventColumns,
	subscriptionEventFields,
} from '../../../domain/subscription-event.ts';
import { ConcurrentChangeError } from '../../../errors.ts';
import type { Query, Row, Steps } from '../../steps.ts';
import {
	assignEvents,
	assignLater,
	type ContestedEvent,
	holdersOf,
	type IdentityLink,
	keyHolders,
	knownLinks,
	linksOfHit,
	lockContested,
	newLinks,
	ownersOf,
	saveLinks,
} from '../owners/identity-links.ts';
import { subscriptionKeys, subscriptionsOf } from '../owners/subscription-owners.ts';
import { saveTouches } from '../profiles/touches.ts';
import { addLatest } from './add-latest.ts';
import { type CrowdedMoment, catchUp, type Moment } from './crowded-moment.ts';
import { compareHits, fitting, mergeLogs, type PlacedHit, toPastHit } from './merge-log.ts';
import {
	insertHits,
	joinEvents,
	loadVisitors,
	loadVisits,
	refold,
	saveVisitors,
	saveVisits,
	unique,
	withShortLogs,
} from './visitor-log.ts';

export type HistoryEvent = SubscriptionEvent & Arrival;

/** What was new in a piece of history. */
export interface StoredHistory<Hit, Event> {
	readonly hits: number;
	readonly events: number;
	/** Events whose `tid` is stored with different content. */
	readonly conflicts: readonly Event[];
	/** Hits left to the next transaction, because too many stored hits lie between them. */
	readonly left: readonly Hit[];
	/** A moment of hits that are left, which must be read before the next transaction. */
	readonly crowded?: Moment;
}

/**
 * Stores hits and subscription events of the past. They may come in any order, and repeatedly: the resulting visits,
 * joins and profiles are the same, and nothing is stored twice. Use `HistoryWriter`, which stores what is left, too.
 * @param crowd a crowded moment that was read
 */
export function* storeHistory<Hit extends HistoryHit, Event extends HistoryEvent>(
	all: readonly Hit[],
	events: readonly Event[],
	crowd?: CrowdedMoment,
): Steps<StoredHistory<Hit, Event>> {
	yield [{ lock: 'import' }];
	const ofVisitors = Map.groupBy(all, ({ vid }) => vid);
	const short = new Set(yield* withShortLogs([...ofVisitors.keys()], maxEntries));
	const longLogs = new Map([...ofVisitors].filter(([vid]) => !short.has(vid)));
	if (crowd) yield* catchUp(crowd);
	const { fits, crowded } = yield* fitting(longLogs, crowd);
	const { hits = [], left = [] } = Object.groupBy(all, (hit) =>
		short.has(hit.vid) || fits.has(hit) ? 'hits' : 'left',
	);
	const links = hits.flatMap(({ vid, atMs, body }) => linksOfHit(vid, atMs, body));
	const [before = []] = yield [knownLinks(links)];
	const linked = new Set(newLinks(links, before).map(({ key }) => key));
	const keys = eventKeys(events);
	yield [
		linked.size > 0 ? { lock: 'exclusive', keys: [...linked, ...keys] } : { lock: 'shared', keys },
		{ lock: 'shared', keys: subscriptionKeys(events) },
	];
	const { added, conflicts } = yield* insertPastEvents(events);
	const contested = yield* lockContested([...linked]);
	const owners = [...(yield* keyHolders(added)), ...(yield* subscriptionsOf(added)).values()];
	const isAdded = new Set(added.map(({ tid }) => tid));
	const [visitors = [], known = []] = yield [
		loadVisitors(unique([...hits.map(({ vid }) => vid), ...contested.vids, ...owners])),
		knownLinks(links),
	];
	const fresh = newLinks(links, known);
	if (fresh.some(({ key }) => !linked.has(key))) throw new ConcurrentChangeError('a visitor was erased');
	const storedHits = yield* storePastHits(hits, {
		visitors: new Set(visitors.map(({ vid }) => String(vid))),
		rows: visitors,
		long: new Set(longLogs.keys()),
		crowd,
		links: fresh,
		contested: contested.events.filter(({ tid }) => !isAdded.has(tid)),
		popular: contested.popular,
	});
	yield* joinPastEvents(added);
	return { hits: storedHits, events: added.length, conflicts, left, ...(crowded && { crowded }) };
}

/** Locked data that the transaction works on. */
interface Locked {
	/** Visitors who existed before. */
	readonly visitors: ReadonlySet<string>;
	readonly rows: readonly Row[];
	/** Visitors whose logs are too long to be read whole. */
	readonly long: ReadonlySet<string>;
	readonly crowd: CrowdedMoment | undefined;
	readonly links: readonly IdentityLink[];
	readonly contested: readonly ContestedEvent[];
	readonly popular: readonly string[];
}

/** The maximum number of entries of short logs that an import reads in one transaction. */
const maxEntries = 1500;

function* storePastHits(arriving: readonly HistoryHit[], locked: Locked): Steps<number> {
	const hitsOf = Map.groupBy(arriving.map(toPastHit).sort(compareHits), ({ vid }) => vid);
	const visitors = locked.visitors.intersection(new Set(hitsOf.keys()));
	const merged = yield* mergeLogs(hitsOf, visitors, locked.long, locked.crowd);
	const added = merged.flatMap((one) => one.added);
	if (added.length === 0) return 0;
	const renamed = merged.flatMap((one) => [...one.renamed]);
	const sids = unique([...added.map(({ sid }) => sid), ...renamed.map(([, sid]) => sid)]);
	yield [insertHits(added), ...renamed.flatMap(([before, after]) => rename(before, after))];
	const [visits = []] = yield [loadVisits(sids), saveLinks(locked.links)];
	yield* assignLater(locked.popular, locked.links);
	const moved = yield* assignEvents(locked.contested);
	const renamedTo = new Set(renamed.map(([, sid]) => sid));
	const latest = addLatest(
		added,
		{ visitors: locked.rows, visits },
		(vid, sid) => !moved.has(vid) && !renamedTo.has(sid),
	);
	yield [
		saveVisitors([...latest.visitors]),
		...addVisits(added, latest.stale),
		saveVisits([...latest.visits]),
		saveTouches(latest.touches),
	];
	const stale = moved.union(latest.stale);
	if (stale.size > 0) yield* refold([...stale], sids);
	return added.length;
}

function rename(before: string, after: string): Query[] {
	return [
		{ sql: 'UPDATE @hit SET sid = ? WHERE sid = ? /* rename visit */', values: [after, before] },
		{ sql: 'DELETE FROM @visit WHERE sid = ? /* rename visit */', values: [before] },
	];
}

/** Adds rows for visits that are rebuilt. */
function addVisits(hits: readonly PlacedHit[], stale: ReadonlySet<string>): Query[] {
	const visits = new Map(hits.filter(({ vid }) => stale.has(vid)).map((hit) => [hit.sid, hit]));
	return [
		{
			sql: 'INSERT INTO @visit (sid, vid, profile) ?rows ON CONFLICT (sid) DO NOTHING /* add visits */',
			rows: [...visits].map(([sid, { vid, atMs }]) => [sid, vid, JSON.stringify(emptyProfile(atMs))]),
		},
	];
}

function* insertPastEvents<Event extends HistoryEvent>(
	events: readonly Event[],
): Steps<{ added: Event[]; conflicts: Event[] }> {
	const [stored = []] = yield [
		{
			sql: `INSERT INTO @subscription_event (${storedEventColumns.join(', ')}) ?rows ON CONFLICT (tid) DO NOTHING RETURNING tid /* store history */`,
			rows: events.map((event) => {
				const row = storedEvent(event, event);
				return storedEventColumns.map((column) => row[column]);
			}),
		},
	];
	const fresh = new Set(stored.map(({ tid }) => tid));
	const { added = [], repeated = [] } = Object.groupBy(events, ({ tid }) =>
		fresh.delete(tid) ? 'added' : 'repeated',
	);
	const [known = []] = yield [
		{
			sql: `SELECT ${subscriptionEventFields.join(', ')} FROM @subscription_event WHERE tid IN ?list /* conflicts */`,
			values: [unique(repeated.map(({ tid }) => tid))],
		},
	];
	const rowOf = new Map(known.map((row) => [row.tid, eventOf(row)]));
	const conflicts = repeated.filter((event) => !sameContent(event, rowOf.get(event.tid)));
	return { added, conflicts };
}

function* joinPastEvents(added: readonly HistoryEvent[]): Steps<void> {
	const [holders = [], following = []] = yield [
		holdersOf(added),
		{
			sql: 'SELECT DISTINCT vid FROM @subscription_event WHERE tid IN ?list AND vid IS NOT NULL /* following history */',
			values: [added.map(({ tid }) => tid)],
		},
	];
	yield* joinEvents(
		added.map((event) => storedEvent(event, event)),
		ownersOf(added, holders),
		yield* subscriptionsOf(added),
		true,
	);
	// The hits stored with these events may have moved them already, with their subscriptions, to visitors who lose them now.
	yield* refold(following.map(({ vid }) => String(vid)));
}
