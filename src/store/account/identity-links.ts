import type { Query, Row, Steps } from '../steps.ts';
import {
	followSubscriptions,
	notErasing,
	type Owner,
	setOwners,
	subscriptionsOf,
} from './subscription-owners.ts';
import { addTasks } from './tasks.ts';

/**
 * A visitor's link to a `tid` (key `t:…`) or a `cid` (`c:…`) that a hit of theirs has shown. A key is held by whoever
 * showed it first: the earliest link, and of several at the same moment the one of the smallest `vid`. A subscription
 * event belongs to the holder of its `tid`, else to the holder of its `cid`, else to whom its subscription belongs, see
 * `subscription-owners.ts`; whichever of hit and upload came first.
 */
export interface IdentityLink {
	readonly key: string;
	readonly atMs: number;
	readonly vid: string;
}

interface Shown {
	readonly events: readonly { readonly tid?: string }[];
	readonly cid: string | null;
}

/** The links that a hit makes. */
export function linksOfHit(vid: string, atMs: number, { events, cid }: Shown): IdentityLink[] {
	const keys = events.flatMap(({ tid }) => (tid === undefined ? [] : [`t:${tid}`]));
	if (cid !== null) keys.push(`c:${cid}`);
	return keys.map((key) => ({ key, atMs, vid }));
}

interface Joinable {
	readonly tid: string;
	readonly cid: string | null;
}

/** The keys by which events find their visitors. */
export function eventKeys(events: readonly Joinable[]): string[] {
	return events.flatMap(({ tid, cid }) => (cid === null ? [`t:${tid}`] : [`t:${tid}`, `c:${cid}`]));
}

/** Who holds the keys of events, where somebody does. */
export function holdersOf(events: readonly Joinable[]): Query {
	return {
		sql: holdersSql,
		values: [eventKeys(events)],
	};
}

/** Who is being erased holds nothing any more. */
const holdersSql =
	"SELECT key, (SELECT vid FROM @claim AS claim WHERE claim.key = list.key AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || claim.vid) ORDER BY at, vid LIMIT 1) AS vid FROM ?each AS list /* holders */";

/** Who had shown keys first up to a moment, and when. */
export function holdersUpTo(keys: readonly string[], asOfMs: number): Query {
	const first = (column: string) =>
		`(SELECT ${column} FROM @claim AS claim WHERE claim.key = list.key AND at <= ? ORDER BY at, vid LIMIT 1)`;
	return {
		sql: `SELECT key, ${first('vid')} AS vid, ${first('at')} AS at FROM ?each AS list /* holders up to */`,
		values: [asOfMs, asOfMs, keys],
	};
}

/** Whom the `tid`, else the `cid`, of each event names, where it names somebody; by `tid`. */
export function ownersOf(events: readonly Joinable[], holders: readonly Row[]): Map<string, Owner> {
	const holderOf = new Map(holders.map(({ key, vid }) => [key, vid]));
	const owners = new Map<string, Owner>();
	for (const { tid, cid } of events) {
		const [byTid, byCid] = [holderOf.get(`t:${tid}`), holderOf.get(`c:${cid}`)];
		if (typeof byTid === 'string') owners.set(tid, { vid: byTid, named: 2 });
		else if (typeof byCid === 'string') owners.set(tid, { vid: byCid, named: 1 });
	}
	return owners;
}

/** The links that visitors have made to keys. Read under the lock of the visitors, they stay as they are. */
export function knownLinks(links: readonly IdentityLink[]): Query {
	return {
		sql: 'SELECT vid, key, at FROM (?rows) AS shown JOIN @claim AS claim ON claim.vid = shown.column1 AND claim.key = shown.column2 WHERE EXISTS (SELECT 1 FROM @visitor AS visitor WHERE visitor.vid = claim.vid) /* known links */',
		rows: earliestLinks(links).map(({ vid, key }) => [vid, key]),
	};
}

/** Those links that are new, or earlier than known. @param known rows of `knownLinks` */
export function newLinks(links: readonly IdentityLink[], known: readonly Row[]): IdentityLink[] {
	const knownAt = new Map(known.map(({ vid, key, at }) => [`${vid} ${key}`, Number(at)]));
	return earliestLinks(links).filter(
		({ vid, key, atMs }) => !((knownAt.get(`${vid} ${key}`) ?? Infinity) <= atMs),
	);
}

function earliestLinks(links: readonly IdentityLink[]): IdentityLink[] {
	const earliest = new Map<string, IdentityLink>();
	for (const link of links) {
		const name = `${link.vid} ${link.key}`;
		if (link.atMs < (earliest.get(name)?.atMs ?? Infinity)) earliest.set(name, link);
	}
	return [...earliest.values()];
}

export function saveLinks(links: readonly IdentityLink[]): Query {
	return {
		sql: 'INSERT INTO @claim (key, at, vid) ?rows ON CONFLICT (vid, key) DO UPDATE SET at = excluded.at, unfounded = NULL WHERE excluded.at < claim.at OR claim.unfounded IS NOT NULL /* save links */',
		rows: earliestLinks(links).map(({ key, atMs, vid }) => [key, atMs, vid]),
	};
}

/** An event that changes of links may give to another visitor. */
export interface ContestedEvent extends Joinable {
	readonly subid: string;
	readonly vid: string | null;
	/** See `Owner`. */
	readonly named: number;
}

/** Events that a transaction may give to other visitors because of new links. */
const maxContested = 50;

/** What is at stake where links to keys change. */
export interface Contest {
	/** Subscription events with one of the keys. Locked. */
	readonly events: readonly ContestedEvent[];
	/** Whom these belong to, or would belong to without new links. */
	readonly vids: readonly string[];
	/** Keys that too many events have; these are left to the background, see `assignLater`. */
	readonly popular: readonly string[];
}

/**
 * Locks keys, so that no upload with them is under way, and then the events that have them.
 * @param erasing whether events of visitors who are being erased are meant, too; else they stay until they are freed
 */
export function* contest(keys: readonly string[], erasing = false): Steps<Contest> {
	if (keys.length === 0) return { events: [], vids: [], popular: [] };
	const [, counts = []] = yield [{ lock: 'exclusive', keys }, countEvents(keys)];
	let left = maxContested;
	const popular = new Set<string>();
	for (const { cid, events } of counts) {
		if (Number(events) > left) popular.add(`c:${cid}`);
		else left -= Number(events);
	}
	const named = (kind: string) =>
		keys.filter((key) => key.startsWith(kind) && !popular.has(key)).map((key) => key.slice(kind.length));
	const [found = []] = yield [
		{
			sql: 'SELECT tid FROM @subscription_event WHERE cid IN ?list /* events of links */',
			values: [named('c:')],
		},
	];
	const tids = new Set([...named('t:'), ...found.map(({ tid }) => String(tid))]);
	const [rows = []] = yield [lockEvents([...tids], erasing)];
	return { ...(yield* contestOver(rows)), popular: [...popular] };
}

/** How many events have each customer id; one more than may be contested stands for all beyond. A `tid` has one. */
function countEvents(keys: readonly string[]): Query {
	return {
		sql: `SELECT key AS cid, (SELECT count(*) FROM (SELECT 1 FROM @subscription_event WHERE cid = list.key ORDER BY id LIMIT ${maxContested + 1}) AS first) AS events FROM ?each AS list /* count events */`,
		values: [keys.filter((key) => key.startsWith('c:')).map((key) => key.slice(2))],
	};
}

/**
 * Leaves the events of popular keys to the background, where these links have changed who holds the key.
 * @param links that have been made
 */
export function* assignLater(popular: readonly string[], links: readonly IdentityLink[]): Steps<void> {
	if (popular.length === 0) return;
	const [holders = []] = yield [{ sql: holdersSql, values: [popular] }];
	const won = holders.filter(({ key, vid }) => links.some((link) => link.key === key && link.vid === vid));
	yield [addTasks(won.map(({ key }) => String(key)))];
}

/** The same for events that are found, and locked, already. @param rows of `lockEvents` */
export function* contestOver(rows: readonly Row[]): Steps<Omit<Contest, 'popular'>> {
	const events = rows.map((row) => row as unknown as ContestedEvent);
	const owners = events.flatMap(({ vid }) => (vid === null ? [] : [vid]));
	const subscribers = yield* subscriptionsOf(events);
	return {
		events,
		vids: [...new Set([...owners, ...(yield* keyHolders(events)), ...subscribers.values()])],
	};
}

/** The visitors who hold keys of events. */
export function* keyHolders(events: readonly Joinable[]): Steps<string[]> {
	const [holders = []] = yield [holdersOf(events)];
	return holders.flatMap(({ vid }) => (typeof vid === 'string' ? [vid] : []));
}

/**
 * Subscription events, locked in the order of their `tid`: they are found first and then locked all at once.
 * @param erasing whether those of visitors who are being erased are meant, too
 */
export function lockEvents(tids: readonly string[], erasing = true): Query {
	return {
		sql: `SELECT tid, subid, cid, vid, named FROM @subscription_event WHERE tid IN ?list${erasing ? '' : notErasing} ORDER BY tid FOR UPDATE /* lock events */`,
		values: [tids],
	};
}

/**
 * Gives events to whom they belong, and what follows them by its `subid`.
 * @returns visitors who have got or lost some
 */
export function* assignEvents(events: readonly ContestedEvent[]): Steps<Set<string>> {
	if (events.length === 0) return new Set();
	const [holders = []] = yield [holdersOf(events)];
	const owners = ownersOf(events, holders);
	const renamed = events.filter(({ tid, vid, named }) => {
		const owner = owners.get(tid);
		return owner ? owner.vid !== vid || owner.named !== named : named > 0;
	});
	yield [setOwners(renamed.map(({ tid }) => [tid, owners.get(tid)]))];
	const subscribers = yield* subscriptionsOf(events);
	const isRenamed = new Set(renamed);
	const following = events.filter((event) => {
		const subscriber = subscribers.get(event.subid) ?? null;
		return !owners.has(event.tid) && subscriber !== (isRenamed.has(event) ? null : event.vid);
	});
	yield [
		setOwners(
			following.map(({ tid, subid }) => {
				const vid = subscribers.get(subid);
				return [tid, vid === undefined ? undefined : { vid, named: 0 }];
			}),
		),
	];
	const moved = events.flatMap(({ tid, subid, vid }) => {
		const owner = owners.get(tid)?.vid ?? subscribers.get(subid) ?? null;
		return owner === vid ? [] : [owner, vid];
	});
	const followed = yield* followSubscriptions(renamed.map(({ subid }) => subid));
	return new Set([...moved.filter((vid) => vid !== null), ...followed]);
}
