import { isMissingKey } from '../../../domain/missing-key.ts';
import {
	decidingOrder,
	type IsAnothers,
	type Joinable,
	joiningKeys,
	type Owner,
	ownerOf,
	subscriptionKey,
} from '../../../domain/ownership.ts';
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
	sql,
	values,
} from '../../steps.ts';
import { unique } from '../../unique.ts';
import { addTasks } from '../tasks.ts';
import { Anothers, isAnothersSql } from './customers.ts';
import { isSharedSql } from './shared-keys.ts';

/** Events, as far as it matters whose their subscriptions are. */
type FollowingEvent = Joinable & { readonly subid: string };

/**
 * The owners of the events' subscriptions that have one, and whether they are another customer's than an event names. A
 * `subid` that stands for a missing one, or that too many share, is no subscription.
 */
export function ownersOfSubscriptions(events: readonly FollowingEvent[]): Askable<Select> {
	const lastCid = new Map<string, string>();
	const pairs: (readonly [subid: string, cid: string])[] = [];
	for (const event of events) {
		const { subid } = event;
		const { cid = '' } = joiningKeys(event);
		// A few pairs come twice where the customers of a subscription take turns.
		if (lastCid.get(subid) === cid || isMissingKey(subid)) continue;
		lastCid.set(subid, cid);
		pairs.push([subid, cid]);
	}
	return select`${ownersOfEach} FROM (${values(pairs)}) AS list ${withVid} AND NOT ${sharedSubid} /* subscriptions */`;
}

/**
 * Of look-ups of a `vid` for each element of a list, those that find one. Most find none, and each row costs 1 µs. With
 * `EXISTS` instead, PostgreSQL might join the list with the whole table. Without the limit, which no list reaches, both
 * engines would look up once for the condition, and once more for the row.
 */
export const withVid = raw('LIMIT 1000000) AS found WHERE vid IS NOT NULL');
/** Of pairs of look-ups, those of which one finds a `vid`; see `withVid`. */
export const withAny = raw('LIMIT 1000000) AS found WHERE by_tid IS NOT NULL OR by_cid IS NOT NULL');

/**
 * For pages of the events of one key, whose index does not sort them: they are few, and those of all keys, which are sorted by `id`,
 * may be many.
 */
export const sortedId = raw('id + 0');

/** A visitor who is being erased owns nothing. */
export const notErasing = raw(" AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || vid)");

const ownersOfEach = raw(
	`subid, cid, vid, CASE WHEN cid = '' THEN 0 WHEN ${isAnothersSql('found.vid', 'cid')} THEN 1 ELSE 0 END AS another FROM (SELECT column1 AS subid, column2 AS cid, (SELECT vid FROM @subscription_event AS event WHERE event.subid = column1 AND named > 0${notErasing.text} ORDER BY ${decidingOrder} LIMIT 1) AS vid`,
);
const sharedSubid = raw(isSharedSql("'s:' || subid"));

/** Whose subscriptions are. */
export interface Subscribers {
	/** By `subid`, the owner of each that has one. */
	readonly subscribers: ReadonlyMap<string, string>;
	/** For these owners, and the customers that the events name. */
	readonly isAnothers: IsAnothers;
}

/** @param rows of `ownersOfSubscriptions` */
export function subscribersIn(rows: readonly Row[]): Subscribers {
	const subscribers = new Map(rows.map(({ subid, vid }) => [String(subid), String(vid)]));
	return { subscribers, isAnothers: new Anothers(rows).test };
}

/** The owners of the events' subscriptions. */
export function* subscriptionsOf(events: readonly FollowingEvent[]): Reading<Subscribers> {
	return subscribersIn(yield* ownersOfSubscriptions(events));
}

export function subidsOf(events: readonly { readonly subid: string }[]): string[] {
	return [...new Set(events.map(({ subid }) => subid))];
}

/** Keys that uploads lock in shared mode, so that nobody overlooks events of the same subscriptions. */
export function subscriptionKeys(events: readonly { readonly subid: string }[]): string[] {
	return keysOf(subidsOf(events));
}

/** Stores the owners of events. Both engines name the columns of `VALUES` `column1`, `column2`, … */
export function setOwners(owners: readonly (readonly [tid: string, owner: Owner | undefined])[]): Query {
	const rows = owners.map(([tid, owner]) => [tid, owner?.vid ?? null, owner?.named ?? 0]);
	return sql`UPDATE @subscription_event SET vid = owner.column2, named = CAST(owner.column3 AS integer) FROM (${values(rows)}) AS owner WHERE tid = owner.column1 /* join */`;
}

/**
 * The maximum number of events that follow their subscription to a new owner in a transaction, or in a piece of a task.
 */
const maxFollowing = 50;

/**
 * Assigns events that name nobody to the current owner of their subscription: at once if they are few and nobody is
 * storing others or has locked them, else in the background.
 * @returns the visitors who gained or lost an event
 */
export function* followSubscriptions(all: readonly string[]): Steps<Set<string>> {
	const subids = unique(all).filter((subid) => !isMissingKey(subid));
	if (subids.length === 0) return new Set();
	const { alone, counts } = yield* ask({
		alone: { lock: 'alone', keys: keysOf(subids) },
		counts: countFollowing(subids),
	});
	const few = fewOf(counts);
	const followed = few.some(({ events }) => events > 0) ? few.map(({ subid }) => subid) : [];
	// The transaction may hold visitors, for whom others may wait that have locked such events.
	const following = yield* lockFollowing('subid', followed, ' SKIP LOCKED');
	// Transactions that cannot see this one may be storing such events now.
	const isAlone = alone.every((row) => row.alone);
	const locked = Map.groupBy(following, ({ subid }) => subid);
	const done = few.filter(({ subid, events }) => isAlone && (locked.get(subid)?.length ?? 0) >= events);
	const isDone = new Set(done.map(({ subid }) => subid));
	yield* addTasks(keysOf(subids.filter((subid) => !isDone.has(subid))));
	return yield* follow(following);
}

function keysOf(subids: readonly string[]): string[] {
	return subids.map(subscriptionKey);
}

/** The number of events that name nobody, of each subscription. Counting stops just above the limit. */
function countFollowing(subids: readonly string[]): Askable<Select> {
	return select`key AS subid, (SELECT count(*) FROM (SELECT 1 FROM @subscription_event WHERE subid = list.key AND named = 0${notErasing} LIMIT ${raw(maxFollowing + 1)}) AS first) AS events FROM ${subids} AS list /* count following */`;
}

/** As many subscriptions as have few such events together. @param counts rows of `countFollowing` */
function fewOf(counts: readonly Row[]): { subid: string; events: number }[] {
	let left = maxFollowing;
	return counts.flatMap(({ subid, events: number }) => {
		const events = Number(number);
		if (events > left) return [];
		left -= events;
		return [{ subid: String(subid), events }];
	});
}

function lockFollowing(by: 'subid' | 'tid', names: readonly string[], more = ''): Askable<Query> {
	return sql`SELECT tid, subid, cid, vid FROM @subscription_event WHERE ${raw(by)} IN ${names} AND named = 0${notErasing} ORDER BY tid FOR UPDATE${raw(more)} /* following */`;
}

/** @param rows of `lockFollowing` */
function* follow(rows: readonly Row[]): Steps<Set<string>> {
	if (rows.length === 0) return new Set();
	const events = rows.map((row) => row as unknown as FollowingEvent & { readonly vid: string | null });
	const { subscribers, isAnothers } = yield* subscriptionsOf(events);
	const moved = events.flatMap((event) => {
		const owner = ownerOf(event, undefined, subscribers.get(event.subid), isAnothers);
		return (owner?.vid ?? null) === event.vid ? [] : [{ tid: event.tid, before: event.vid, owner }];
	});
	yield [setOwners(moved.map(({ tid, owner }) => [tid, owner]))];
	return new Set(
		moved.flatMap(({ before, owner }) => [before, owner?.vid]).filter((vid) => typeof vid === 'string'),
	);
}

/**
 * Does what `followSubscriptions` left to the background, for those subscriptions that have few events, if the first has.
 * @returns these subscriptions, and the visitors who gained or lost an event
 */
export function* followFew(subids: readonly string[]): Steps<{ few: readonly string[]; moved: Set<string> }> {
	const counted = fewOf(yield* countFollowing(subids)).map(({ subid }) => subid);
	const few = counted.includes(subids[0] ?? '') ? counted : [];
	const { following } = yield* ask({
		lock: { lock: 'exclusive', keys: keysOf(few) },
		following: lockFollowing('subid', few),
	});
	return { few, moved: yield* follow(following) };
}

/**
 * Does a piece of it, for a subscription with many events.
 * @returns the visitors who gained or lost an event, and the id of the last event; undefined at the end
 */
export function* followOn(
	subid: string,
	afterId: number,
): Steps<{ moved: Set<string>; lastId: number | undefined }> {
	const { page } = yield* ask({
		lock: { lock: 'exclusive', keys: keysOf([subid]) },
		page: select`id, tid FROM @subscription_event WHERE subid = ${subid} AND named = 0 AND id > ${afterId} ORDER BY ${sortedId} LIMIT ${raw(maxFollowing)} /* follow */`,
	});
	const tids = page.map(({ tid }) => String(tid));
	const following = yield* lockFollowing('tid', tids);
	const last = page.length === maxFollowing ? page.at(-1) : undefined;
	return { moved: yield* follow(following), lastId: last && Number(last.id) };
}
