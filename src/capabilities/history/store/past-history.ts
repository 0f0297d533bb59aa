import { eventKeys } from '../../../core/domain/ownership.ts';
import type { HistoryHit } from '../../../core/domain/stored-hit.ts';
import {
	type Arrival,
	type StoredEvent,
	type SubscriptionEvent,
	storedEvent,
} from '../../../core/domain/subscription-event.ts';
import { ConcurrentChangeError } from '../../../core/errors.ts';
import {
	askOwners,
	findOwners,
	firstOfEach,
	insertEvents,
	newAmong,
	ownersAmong,
	storeEvents,
	type UploadOutcome,
} from '../../../core/store/account/arriving/arriving-events.ts';
import { forgetAcquisitionsOf, forgetDays } from '../../../core/store/account/arriving/forget-days.ts';
import { insertHits } from '../../../core/store/account/arriving/hits.ts';
import {
	assignEvents,
	assignLater,
	customersChange,
	type IdentityLink,
	type KeysOfVisitors,
	keysOfVisitors,
	knownLinks,
	linksOfHit,
	lockContested,
	newLinks,
	perhapsShared,
	saveLinks,
} from '../../../core/store/account/owners/identity-links.ts';
import { lookAtShown } from '../../../core/store/account/owners/shared-keys.ts';
import { subidsOf, subscriptionKeys } from '../../../core/store/account/owners/subscription-owners.ts';
import {
	derivedOf,
	findErased,
	issuedVid,
	lockDerived,
	successorsAmong,
} from '../../../core/store/account/profiles/derived-visitors.ts';
import { refold, withShortLogs } from '../../../core/store/account/profiles/refold.ts';
import {
	addMissingVisits,
	findOwning,
	LoadedProfiles,
	loadVisitors,
	loadVisits,
	returningAmong,
	saveVisitors,
	saveVisits,
} from '../../../core/store/account/profiles/stored-profiles.ts';
import { saveTouches } from '../../../core/store/account/profiles/touches.ts';
import { ask, type Query, type Row, rowsOf, type Steps, select, sql } from '../../../core/store/steps.ts';
import { unique } from '../../../core/store/unique.ts';
import { addLatest } from './add-latest.ts';
import { type CrowdedMoment, catchUp, identityOf, type Moment } from './crowded-moment.ts';
import { compareHits, fitting, knownHistory, mergeLogs, type PlacedHit, toPastHit } from './merge-log.ts';

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
	given: readonly Hit[],
	events: readonly Event[],
	crowd?: CrowdedMoment,
): Steps<StoredHistory<Hit, Event>> {
	yield [{ lock: 'import' }];
	const own = yield* withoutTakenApart(given);
	const successors = successorsAmong(yield* findErased(derivedOf(own)));
	const all =
		successors.size === 0
			? own
			: own.map((hit) => (hit.derived ? { ...hit, vid: issuedVid(hit.derived, successors) } : hit));
	const ofVisitors = Map.groupBy(all, ({ vid }) => vid);
	const short = new Set(yield* withShortLogs([...ofVisitors.keys()], maxEntries));
	const longLogs = new Map([...ofVisitors].filter(([vid]) => !short.has(vid)));
	if (crowd) yield* catchUp(crowd);
	const { fits, crowded } = yield* fitting(longLogs, crowd);
	const { hits = [], left = [] } = Object.groupBy(all, (hit) =>
		short.has(hit.vid) || fits.has(hit) ? 'hits' : 'left',
	);
	const links = hits.flatMap(({ vid, atMs, body }) => linksOfHit(vid, atMs, body));
	const before = yield* knownLinks(links);
	const linked = new Set(newLinks(links, before).map(({ key }) => key));
	const keys = eventKeys(events);
	const changing = customersChange(links.filter(({ key }) => linked.has(key)));
	// All at once: whoever holds some locks and waits for others could wait for ever.
	const more = yield* keysOfVisitors(changing);
	yield [
		linked.size > 0
			? { lock: 'exclusive', keys: [...linked, ...keys, ...more.keys] }
			: { lock: 'shared', keys },
		{
			lock: changing.length > 0 ? 'exclusive' : 'shared',
			keys: [...subscriptionKeys(events), ...subscriptionKeys(more.subids.map((subid) => ({ subid })))],
		},
	];
	const arriving = { size: events.length, events: events.map((event) => storedEvent(event, event)) };
	let storedHits = 0;
	let following: readonly Row[] = [];
	const [outcome] = yield* storeEvents([arriving], function* () {
		const forget = yield* forgetAcquisitionsOf(subidsOf(arriving.events));
		const { rows, ...found } = yield* ask({
			forget,
			rows: insertEvents(arriving.events),
			...askOwners(firstOfEach(arriving.events)),
		});
		const fresh = new Set(rows.map(({ tid }) => String(tid)));
		const added = newAmong([arriving], fresh);
		yield [forgetDays(added.map(({ received_at }) => received_at))];
		if (hits.length === 0) return { ...ownersAmong(added, found), fresh };
		storedHits = yield* storePastHits(hits, {
			links,
			linked,
			changing,
			locked: more,
			long: new Set(longLogs.keys()),
			successors,
			crowd,
			added,
			owners: [...found.holders, ...found.subscriptions].map(({ vid }) => String(vid)),
		});
		if (storedHits > 0)
			following =
				yield* select`DISTINCT vid FROM @subscription_event WHERE tid IN ${[...fresh]} AND vid IS NOT NULL /* following history */`;
		return { ...(yield* findOwners(added)), fresh, hasVisitors: true };
	});
	// The hits may have moved these events already, with their subscriptions, to visitors who lose them now.
	yield* refold(following.map(({ vid }) => String(vid)));
	const { stored, conflictingRows } = outcome as UploadOutcome;
	const conflicts = conflictingRows.map((row) => events[row] as Event);
	return { hits: storedHits, events: stored, conflicts, left, ...(crowded && { crowded }) };
}

/** Hits but for those that another visitor has got, when theirs was taken apart. */
function* withoutTakenApart<Hit extends HistoryHit>(hits: readonly Hit[]): Steps<readonly Hit[]> {
	const several = hits.filter(({ apart }) => apart !== undefined);
	if (several.length === 0) return hits;
	const times = several.map(({ atMs }) => atMs);
	const rows =
		yield* select`vid, at, body FROM @logged_hit WHERE vid IN ${unique(several.flatMap(({ apart = [] }) => apart))} AND at >= ${Math.min(...times)} AND at <= ${Math.max(...times)} /* taken apart */`;
	const taken = new Set(
		rows.map(({ vid, at, body }) => `${vid} ${at} ${identityOf(JSON.parse(String(body)))}`),
	);
	return hits.filter(
		({ apart = [], atMs, body }) => !apart.some((vid) => taken.has(`${vid} ${atMs} ${identityOf(body)}`)),
	);
}

/** What hits are stored with. */
interface Surroundings {
	/** The links that the hits show. */
	readonly links: readonly IdentityLink[];
	/** The keys of those that seemed new, which are locked. */
	readonly linked: ReadonlySet<string>;
	/** The visitors whose customers may change, and what is locked for them. */
	readonly changing: readonly string[];
	readonly locked: KeysOfVisitors;
	/** Whom marks of erased visitors lead to. */
	readonly successors: ReadonlyMap<string, string>;
	/** Visitors whose logs are too long to be read whole. */
	readonly long: ReadonlySet<string>;
	readonly crowd: CrowdedMoment | undefined;
	/** Events that this transaction has stored. */
	readonly added: readonly StoredEvent[];
	/** Whose they would be without the hits, and those of repeated ones. */
	readonly owners: readonly string[];
}

/** The maximum number of entries of short logs that an import reads in one transaction. */
const maxEntries = 1500;

function* storePastHits(
	arriving: readonly HistoryHit[],
	{ links, linked, changing, locked, successors, long, crowd, added: addedEvents, owners }: Surroundings,
): Steps<number> {
	const contested = yield* lockContested([...linked], { changing, locked });
	const hitsOf = Map.groupBy(arriving.map(toPastHit).sort(compareHits), ({ vid }) => vid);
	const derived = derivedOf(arriving);
	const { visitors, erased, known, owning, history } = yield* ask({
		lock: lockDerived(derived),
		visitors: loadVisitors(unique([...hitsOf.keys(), ...contested.vids, ...owners])),
		erased: findErased(derived),
		known: knownLinks(links),
		owning: findOwning([...hitsOf.keys()]),
		history: knownHistory([...hitsOf.keys()].filter((vid) => !long.has(vid))),
	});
	if (erased.some(({ mark, successor }) => successors.get(String(mark)) !== successor))
		throw new ConcurrentChangeError('a derived visitor was erased');
	const fresh = newLinks(links, known).filter(({ key }) => !contested.shared.has(key));
	if (fresh.some(({ key }) => !linked.has(key))) throw new ConcurrentChangeError('a visitor was erased');
	const knownVids = visitors.map(({ vid }) => String(vid)).filter((vid) => hitsOf.has(vid));
	const merged = yield* mergeLogs(hitsOf, new Set(knownVids), { history, long, crowd });
	const added = merged.flatMap((one) => one.added);
	if (added.length === 0) return 0;
	const renamed = merged.flatMap((one) => [...one.renamed]);
	const sids = unique([...added.map(({ sid }) => sid), ...renamed.map(([, sid]) => sid)]);
	// Only the last one has rows.
	const visits = yield* rowsOf([
		insertHits(added),
		saveLinks(fresh, contested.shared),
		...renamed.flatMap(([before, after]) => rename(before, after)),
		loadVisits(sids),
	]);
	yield* lookAtShown(perhapsShared(fresh, contested));
	yield* assignLater(contested.popular, fresh);
	const isAdded = new Set(addedEvents.map(({ tid }) => tid));
	const assigned = yield* assignEvents(contested.events.filter(({ tid }) => !isAdded.has(tid)));
	const { hidden } = new LoadedProfiles(visitors);
	const seeing = fresh.filter(({ vid }) => hidden.has(vid)).map(({ vid }) => vid);
	const moved = assigned.union(returningAmong(owning, visitors)).union(new Set(seeing));
	const renamedTo = new Set(renamed.map(([, sid]) => sid));
	const latest = addLatest(added, { visitors, visits }, (vid, sid) => !moved.has(vid) && !renamedTo.has(sid));
	yield [
		saveVisitors([...latest.visitors]),
		addVisits(added, latest.stale),
		saveVisits([...latest.visits]),
		saveTouches(latest.touches),
		forgetDays(added.map(({ atMs }) => atMs)),
	];
	const stale = moved.union(latest.stale);
	if (stale.size > 0) yield* refold([...stale], sids);
	return added.length;
}

function rename(before: string, after: string): Query[] {
	return [
		sql`UPDATE @hit SET sid = ${after} WHERE sid = ${before} /* rename visit */`,
		sql`DELETE FROM @visit WHERE sid = ${before} /* rename visit */`,
	];
}

/** Adds rows for visits that are rebuilt. */
function addVisits(hits: readonly PlacedHit[], stale: ReadonlySet<string>): Query {
	const visits = new Map(hits.filter(({ vid }) => stale.has(vid)).map((hit) => [hit.sid, hit]));
	return addMissingVisits([...visits].map(([sid, { vid, atMs }]) => ({ sid, vid, firstMs: atMs })));
}
