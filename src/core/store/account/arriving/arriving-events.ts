import { hasSharedKey, type Owner, ownerOf } from '../../../domain/ownership.ts';
import { apply, compareEntries, type Profile, type SubscriptionEntry } from '../../../domain/profile.ts';
import { noSharedKeys, type SharedKeys } from '../../../domain/shared-key.ts';
import {
	allEventColumns,
	eventOf,
	isTold,
	type StoredEvent,
	sameContent,
	storedEventColumns,
	subscriptionEntry,
	subscriptionEventFields,
	valuesOf,
} from '../../../domain/subscription-event.ts';
import {
	type Askable,
	ask,
	type Query,
	type Reading,
	type Row,
	raw,
	type Select,
	type Steps,
	select,
	type Value,
} from '../../steps.ts';
import { unique } from '../../unique.ts';
import { holdersOf, ownersOf } from '../owners/identity-links.ts';
import {
	followSubscriptions,
	ownersOfSubscriptions,
	type Subscribers,
	setOwners,
	subidsOf,
	subscribersIn,
	subscriptionsOf,
} from '../owners/subscription-owners.ts';
import { refold } from '../profiles/refold.ts';
import { LoadedProfiles, loadFreeVisitors, loadVisitors, saveVisitors } from '../profiles/stored-profiles.ts';
import { addConflicts } from './conflicts.ts';
import { forgetAcquisitionsOf, forgetDays } from './forget-days.ts';

/** Subscription events that arrive together. */
export interface ArrivingEvents {
	readonly size: number;
	readonly events: readonly StoredEvent[];
	/** Whether conflicts are kept for somebody who tells of them. */
	readonly keepsConflicts?: boolean | undefined;
}

/** The outcome of an upload. Rows are indices of its events, from 0. */
export interface UploadOutcome {
	/** Number of new events; the others are duplicates. */
	readonly stored: number;
	/** Events whose `tid` was stored before, or occurs earlier in the upload. */
	readonly duplicateRows: readonly number[];
	/** Duplicates whose content differs from the stored event. */
	readonly conflictingRows: readonly number[];
	/** Events with a key that too many share, which joins nobody; undefined if there are none. */
	readonly sharedRows?: readonly number[];
}

/** Whom events belong to. */
export interface Owners {
	/** Whom they name, by `tid`. */
	readonly owners: ReadonlyMap<string, Owner>;
	/** To whom their subscriptions belonged before, by `subid`. */
	readonly subscribers: ReadonlyMap<string, string>;
	readonly isAnothers: Subscribers['isAnothers'];
}

/** What is known once events are inserted. */
export interface InsertedEvents extends Owners {
	/** The new `tid`s; `all` where no event repeats one. */
	readonly fresh: ReadonlySet<string> | 'all';
	/** The owners that the events were stored with, by `tid`; absent where they were stored without. */
	readonly owned?: ReadonlyMap<string, Owner>;
	/** The keys of the events that too many share, where the answer tells. */
	readonly shared?: SharedKeys;
	/** Whether the transaction has locked visitors. */
	readonly hasVisitors?: true;
	/** Whether the account has keys with owners, or that too many share, where that was asked. */
	readonly hasKeys?: boolean;
}

/**
 * Stores the subscription events that are new, and joins them to their visitors: the one way in for uploads and imported
 * history on every engine.
 * @param insert stores the events whose `tid` is new, each once, and finds their owners
 * @returns the outcome of each upload
 */
export function* storeEvents(
	uploads: readonly ArrivingEvents[],
	insert: () => Steps<InsertedEvents>,
): Steps<UploadOutcome[]> {
	return yield* followInserted(uploads, yield* insert());
}

/** Joins events that have just been stored. @returns the outcome of each upload */
export function* followInserted(
	uploads: readonly ArrivingEvents[],
	inserted: InsertedEvents,
): Steps<UploadOutcome[]> {
	const { fresh, owners, subscribers, shared = noSharedKeys } = inserted;
	if (owners.size + subscribers.size > 0) yield* joinEvents(newAmong(uploads, fresh), inserted);
	if (fresh === 'all')
		return uploads.map((upload) => ({
			stored: upload.size,
			duplicateRows: [],
			conflictingRows: [],
			...sharedRowsOf(upload, shared),
		}));
	const outcomes = yield* outcomesOf(uploads, fresh, shared);
	yield uploads.flatMap(({ events, keepsConflicts }, index) =>
		keepsConflicts ? addConflicts(events, outcomes[index]?.conflictingRows ?? []) : [],
	);
	return outcomes;
}

function sharedRowsOf(upload: ArrivingEvents, shared: SharedKeys): Pick<UploadOutcome, 'sharedRows'> {
	if (shared.size === 0) return {};
	const sharedRows = upload.events.flatMap((event, row) => (hasSharedKey(event, shared) ? [row] : []));
	return sharedRows.length > 0 ? { sharedRows } : {};
}

/** The new events. Of several with one `tid` only the first is stored. */
export function newAmong(
	uploads: readonly ArrivingEvents[],
	fresh: InsertedEvents['fresh'],
): readonly StoredEvent[] {
	const events = uploads.flatMap((upload) => upload.events);
	return fresh === 'all' ? events : firstOfEach(events).filter(({ tid }) => fresh.has(tid));
}

/** Of events with the same `tid` only the first, which is the one that is stored. */
export function firstOfEach(events: readonly StoredEvent[]): readonly StoredEvent[] {
	// Most senders number their sales. Comparing neighbours costs a tenth of a map.
	if (areRising(events)) return events;
	const byTid = new Map<string, StoredEvent>();
	for (const event of events) if (!byTid.has(event.tid)) byTid.set(event.tid, event);
	return [...byTid.values()];
}

function areRising(events: readonly StoredEvent[]): boolean {
	for (let row = 1; row < events.length; row++)
		if ((events[row] as StoredEvent).tid <= (events[row - 1] as StoredEvent).tid) return false;
	return true;
}

/** Stores the events that are new, in order. The unique index on `tid` decides which are. Returns their `tid`s. */
export function insertEvents(events: readonly StoredEvent[]): Query & { rows: NonNullable<Query['rows']> } {
	return { sql: (events.some(isTold) ? insertNewTold : insertNew).ofNew, rows: rowsOfEvents(events) };
}

/** What an INSERT takes, with when an event arrived where one of them tells when it happened. */
export function rowsOfEvents(events: readonly StoredEvent[]): (readonly Value[])[] {
	const rows = events.map((event) => [...valuesOf(event), event.received_at, event.request_id]);
	return events.some(isTold) ? rows.map((row, index) => [...row, events[index]?.arrived_at ?? null]) : rows;
}

/** Statements that store events: all, or those whose `tid` is new, which they return. */
export function insertsInto(columns: readonly string[]) {
	const ofAll = `INSERT INTO @subscription_event (${columns.join(', ')}) ?rows`;
	return { ofAll, ofNew: `${ofAll} ON CONFLICT (tid) DO NOTHING RETURNING tid` };
}
const insertNew = insertsInto(storedEventColumns);
const insertNewTold = insertsInto(allEventColumns);

/** Stores events of which some tell when they happened. @param insert stores them, and finds out which are new */
export function* insertTold(
	events: readonly StoredEvent[],
	insert: () => Steps<InsertedEvents>,
): Steps<InsertedEvents> {
	const told = events.filter(isTold);
	const forget = yield* forgetAcquisitionsOf(subidsOf(told));
	const inserted = yield* insert();
	yield [forget, forgetDays(told.map(({ received_at }) => received_at))];
	return inserted;
}

/** Asks whom events belong to. @param events with different `tid`s */
export function askOwners(events: readonly StoredEvent[]) {
	return { holders: holdersOf(events), subscriptions: ownersOfSubscriptions(events) };
}

/** @param found the rows of `askOwners`, for these events or more */
export function ownersAmong(
	events: readonly StoredEvent[],
	{ holders, subscriptions }: { readonly [Name in keyof ReturnType<typeof askOwners>]: readonly Row[] },
): Owners {
	return { owners: ownersOf(events, holders), ...subscribersIn(subscriptions) };
}

/** @param events with different `tid`s */
export function* findOwners(events: readonly StoredEvent[]): Reading<Owners> {
	return ownersAmong(events, yield* ask(askOwners(events)));
}

/**
 * The owners that events can be stored with. Missing are those of a subscription to which one of the events may give another owner:
 * that is known when they are stored.
 * @param events with different `tid`s
 */
export function ownersToStore(
	events: readonly StoredEvent[],
	{ owners, subscribers, isAnothers }: Owners,
): ReadonlyMap<string, Owner> {
	if (subscribers.size === 0) return owners;
	const owned = new Map(owners);
	const open = new Set<string>();
	for (const { tid, subid } of events) {
		const named = owners.get(tid);
		if (named && named.vid !== subscribers.get(subid)) open.add(subid);
	}
	for (const event of events) {
		if (owners.has(event.tid) || open.has(event.subid)) continue;
		const owner = ownerOf(event, undefined, subscribers.get(event.subid), isAnothers);
		if (owner) owned.set(event.tid, owner);
	}
	return owned;
}

/** A new `tid` belongs to the first upload that has it. Repeats are compared with what is stored. */
function* outcomesOf(
	uploads: readonly ArrivingEvents[],
	fresh: ReadonlySet<string>,
	shared: SharedKeys,
): Reading<UploadOutcome[]> {
	const left = new Set(fresh);
	const duplicates = uploads.map(({ events }) =>
		events.flatMap(({ tid }, row) => (left.delete(tid) ? [] : [row])),
	);
	const tids = uploads.flatMap(({ events }, index) =>
		(duplicates[index] ?? []).map((row) => events[row]?.tid as string),
	);
	const rows = yield* eventsByTid(unique(tids));
	const stored = new Map(rows.map((row) => [row.tid, row]));
	return uploads.map((upload, index) => {
		const { events } = upload;
		const duplicateRows = duplicates[index] ?? [];
		const isConflicting = (row: number) => {
			const event = events[row] as StoredEvent;
			const known = stored.get(event.tid);
			return !sameContent(event, known && eventOf(known)) || isToldOtherwise(event, known);
		};
		return {
			stored: events.length - duplicateRows.length,
			duplicateRows,
			conflictingRows: duplicateRows.filter(isConflicting),
			...sharedRowsOf(upload, shared),
		};
	});
}

/** Who tells another time than before has changed the event. Who told none, or tells none now, has not said that it differs. */
function isToldOtherwise(event: StoredEvent, stored: Row | undefined): boolean {
	return isTold(event) && stored?.arrived_at != null && Number(stored.received_at) !== event.received_at;
}

function eventsByTid(tids: readonly string[]): Askable<Select> {
	return select`${raw([...subscriptionEventFields, 'received_at', 'arrived_at'].join(', '))} FROM @subscription_event WHERE tid IN ${tids} /* find conflicts */`;
}

/**
 * The subscriptions to which events that have just been stored give another owner. Where there is one already, most events come later
 * than the one that decides, and change nothing.
 * @param named events that do not name their subscription's owner
 */
function* newlyOwnedBy(
	named: readonly StoredEvent[],
	before: InsertedEvents['subscribers'],
): Reading<ReadonlySet<string>> {
	const owned = named.filter(({ subid }) => before.has(subid));
	if (owned.length === 0) return new Set(subidsOf(named));
	const { subscribers } = yield* subscriptionsOf(owned);
	const isNew = (subid: string) => !before.has(subid) || subscribers.get(subid) !== before.get(subid);
	return new Set(subidsOf(named).filter(isNew));
}

/** A visitor's profile with events that are later than everything in it; null where one is not. @param row of `loadVisitors` */
function withEvents(
	row: Row,
	joined: readonly { readonly owner: Owner; readonly entry: SubscriptionEntry }[],
): Profile | null {
	const vid = String(row.vid);
	const loaded = new LoadedProfiles([row]);
	let profile = loaded.profiles.get(vid) ?? null;
	for (const { owner, entry } of joined.toSorted((a, b) => compareEntries(a.entry, b.entry))) {
		// What follows a subscription is seen with what names its owner. Entries of one moment keep their order, so they are compared with the profile as it was loaded.
		if (!loaded.isLatest(vid, entry) || (owner.named > 0 && loaded.hidden.get(vid) === 2)) return null;
		profile = apply(profile, entry);
	}
	return profile;
}

/**
 * Joins subscription events that have just been stored to the visitors who hold their `tid` or `cid`, or whom their
 * subscriptions belong to.
 */
export function* joinEvents(
	events: readonly StoredEvent[],
	{ owners, subscribers, isAnothers, owned, hasVisitors }: Omit<InsertedEvents, 'fresh'>,
): Steps<void> {
	const named = events.filter(({ tid }) => owners.has(tid));
	if (!owned) yield [setOwners(named.map(({ tid }) => [tid, owners.get(tid)]))];
	// Events of a subscription that name nobody follow its new owner, the stored ones included.
	const newlyOwned = yield* newlyOwnedBy(
		named.filter(({ tid, subid }) => owners.get(tid)?.vid !== subscribers.get(subid)),
		subscribers,
	);
	const followed = yield* followSubscriptions([...newlyOwned]);
	const joined = events.flatMap((event) => {
		const { tid, subid } = event;
		const subscriber = newlyOwned.has(subid) ? undefined : subscribers.get(subid);
		const owner = ownerOf(event, owners.get(tid), subscriber, isAnothers);
		return owner ? [{ owner, entry: subscriptionEntry(event) }] : [];
	});
	const joinedTo = Map.groupBy(joined, ({ owner }) => owner.vid);
	const vids = unique([...joinedTo.keys(), ...followed]);
	const { rows, busy } = hasVisitors
		? yield* loadFreeVisitors(vids)
		: { rows: yield* loadVisitors(vids), busy: [] };
	const stale = new Set([...followed, ...busy]);
	yield [
		setOwners(
			joined
				.filter(({ owner, entry }) => owner.named === 0 && !owned?.has(entry.tid))
				.map(({ owner, entry }) => [entry.tid, owner]),
		),
		// One by one: many profiles at once would outlive the young generation. Retention has deleted the hits of some visitors and kept their links; they have no profile.
		saveVisitors(
			rows.values().flatMap((row) => {
				const vid = String(row.vid);
				const profile = stale.has(vid) ? null : withEvents(row, joinedTo.get(vid) ?? []);
				if (!profile) stale.add(vid);
				return profile ? [[vid, profile]] : [];
			}),
		),
	];
	if (stale.size > 0) yield* refold([...stale]);
}
