import type { Query, Row, Steps } from '../steps.ts';

/**
 * A visitor's link to a `tid` (key `t:…`) or a `cid` (`c:…`) that a hit of theirs has shown. A key is held by whoever
 * showed it first: the earliest link, and of several at the same moment the one of the smallest `vid`. A subscription
 * event belongs to the holder of its `tid`, else to the holder of its `cid`, whichever of hit and upload came first.
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

/** The `vid` of each event that belongs to a visitor, by `tid`. */
export function ownersOf(events: readonly Joinable[], holders: readonly Row[]): Map<string, string> {
	const holderOf = new Map(holders.map(({ key, vid }) => [key, vid]));
	const owners = new Map<string, string>();
	for (const { tid, cid } of events) {
		const vid = holderOf.get(`t:${tid}`) ?? holderOf.get(`c:${cid}`);
		if (typeof vid === 'string') owners.set(tid, vid);
	}
	return owners;
}

/** Writes down to whom events belong. Both engines name the columns of `VALUES` so. */
export function setOwners(owners: readonly (readonly [tid: string, vid: string | null])[]): Query {
	return {
		sql: 'UPDATE @subscription_event SET vid = owner.column2 FROM (?rows) AS owner WHERE tid = owner.column1 /* join */',
		rows: owners,
	};
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
	readonly vid: string | null;
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

/** @param names `c:…` or `e:…` */
export function addTasks(names: readonly string[]): Query {
	return {
		sql: 'INSERT INTO @task (name, position) ?rows /* add tasks */',
		rows: names.map((name) => [name, 0]),
		wakes: true,
	};
}

/** The same for events that are found, and locked, already. @param rows of `lockEvents` */
export function* contestOver(rows: readonly Row[]): Steps<Omit<Contest, 'popular'>> {
	const events = rows.map((row) => row as unknown as ContestedEvent);
	const owners = events.flatMap(({ vid }) => (vid === null ? [] : [vid]));
	return { events, vids: [...new Set([...owners, ...(yield* keyHolders(events))])] };
}

/** The visitors who hold keys of events. */
export function* keyHolders(events: readonly Joinable[]): Steps<string[]> {
	const [holders = []] = yield [holdersOf(events)];
	return holders.flatMap(({ vid }) => (typeof vid === 'string' ? [vid] : []));
}

const notErasing = " AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || vid)";

/**
 * Subscription events, locked in the order of their `tid`: they are found first and then locked all at once.
 * @param erasing whether those of visitors who are being erased are meant, too
 */
export function lockEvents(tids: readonly string[], erasing = true): Query {
	return {
		sql: `SELECT tid, cid, vid FROM @subscription_event WHERE tid IN ?list${erasing ? '' : notErasing} ORDER BY tid FOR UPDATE /* lock events */`,
		values: [tids],
	};
}

/** Gives events to whom they belong. @returns visitors who have got or lost some */
export function* assignEvents(events: readonly ContestedEvent[]): Steps<Set<string>> {
	if (events.length === 0) return new Set();
	const [holders = []] = yield [holdersOf(events)];
	const owners = ownersOf(events, holders);
	const moved = events.filter(({ tid, vid }) => (owners.get(tid) ?? null) !== vid);
	if (moved.length > 0) yield [setOwners(moved.map(({ tid }) => [tid, owners.get(tid) ?? null]))];
	return new Set(
		moved.flatMap(({ tid, vid }) => [owners.get(tid), vid].filter((name) => typeof name === 'string')),
	);
}
