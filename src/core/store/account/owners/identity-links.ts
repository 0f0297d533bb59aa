import { isMissingKey } from '../../../domain/missing-key.ts';
import {
	cidKey,
	type Holder,
	type IsAnothers,
	type Joinable,
	joiningKeys,
	type KeyHolder,
	namedOwner,
	neverProven,
	type Owner,
	ownerOf,
	type ShownKey,
	subscriptionKey,
	tidKey,
} from '../../../domain/ownership.ts';
import { maxSharing, type SharedKeys } from '../../../domain/shared-key.ts';
import { ConcurrentChangeError } from '../../../errors.ts';
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
import { Anothers, isAnothersSql, isMissingSql } from './customers.ts';
import { countShowingSql, isSharedSql } from './shared-keys.ts';
import {
	followSubscriptions,
	notErasing,
	setOwners,
	sortedId,
	subidsOf,
	subscriptionsOf,
	withAny,
	withVid,
} from './subscription-owners.ts';

/**
 * A visitor's link to a `tid` (key `t:…`) or a `cid` (`c:…`) that one of the visitor's hits has shown. The table is called
 * `claim`. `domain/ownership.ts` says whose an event is by these links.
 */
export interface IdentityLink extends ShownKey {
	readonly key: string;
}

interface ShownIds {
	readonly events: readonly { readonly tid?: string; readonly isTidUnproven?: true }[];
	readonly cid: string | null;
	readonly isCidUnproven?: true;
}

/** The identity links of a hit. */
export function linksOfHit(
	vid: string,
	atMs: number,
	{ events, cid, isCidUnproven }: ShownIds,
): IdentityLink[] {
	const linkTo = (key: string, isUnproven?: true) => ({
		key,
		atMs,
		provenAtMs: isUnproven ? neverProven : atMs,
		vid,
	});
	const links = events.flatMap(({ tid, isTidUnproven }) =>
		tid === undefined ? [] : [linkTo(tidKey(tid), isTidUnproven)],
	);
	if (cid !== null) links.push(linkTo(cidKey(cid), isCidUnproven));
	return links;
}

/** The identity links of a stored hit. @param row `vid`, `at`, `body` */
export function linksOfRow({ vid, at, body }: Row): IdentityLink[] {
	return linksOfHit(String(vid), Number(at), JSON.parse(String(body)));
}

/** In SQL: since when a link is proven, `neverProven` if it is not. @param claim the table's name in the statement */
export function provenAtSql(claim: string): string {
	return `coalesce(${claim}.unproven_until, ${claim}.at)`;
}

/** In SQL: whether a link is proven. */
export function isProvenSql(claim: string): string {
	return `(${claim}.unproven_until IS NULL OR ${claim}.unproven_until < ${neverProven})`;
}

/**
 * In SQL: the condition of the links by which an event may be its visitor's.
 * @param own,event the tables' names in the statement
 */
export function linksToEventSql(own: string, event: string): string {
	return `${own}.vid = ${event}.vid AND ${ofEventSql(own, event)}`;
}

/** In SQL: the condition of anybody's links to an event. */
export function ofEventSql(own: string, event: string): string {
	return `${own}.key IN ('t:' || ${event}.tid, 'c:' || ${event}.cid) AND NOT (${isMissingSql(`substr(${own}.key, 3)`)})`;
}

/** In SQL: the order of those who have shown a key. The first holds it: see `compareHolders`. */
export function holdingOrder(claim: string): string {
	return `${provenAtSql(claim)}, ${claim}.at, ${claim}.vid`;
}

/**
 * In SQL: who holds a key. A visitor who is being erased holds none. Whoever has shown it first and proved it at once needs no comparison,
 * and is found by the primary key.
 * @param key an expression
 */
function holderSql(key: string): string {
	const notErased = (claim: string) =>
		`NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || ${claim}.vid)`;
	const proven = `(SELECT vid FROM @claim AS other WHERE other.key = claim.key AND ${isProvenSql('other')} AND ${notErased('other')} ORDER BY ${holdingOrder('other')} LIMIT 1)`;
	return `(SELECT CASE WHEN claim.unproven_until IS NULL THEN claim.vid ELSE coalesce(${proven}, claim.vid) END FROM @claim AS claim WHERE claim.key = ${key} AND ${notErased('claim')} ORDER BY at, vid LIMIT 1)`;
}

/**
 * In SQL: since when a visitor's link to a key is proven. With `EXISTS` instead, PostgreSQL might read all links.
 * @param vid,key expressions
 */
function ownProofSql(vid: string, key: string): string {
	return `(SELECT ${provenAtSql('own')} FROM @claim AS own WHERE own.vid = ${vid} AND own.key = ${key})`;
}

/** In SQL: a holder, or nobody where too many share the key. Most have none. */
function unsharedSql(holder: string, key: string, or = ''): string {
	return `CASE WHEN ${holder} IS NULL OR ${isSharedSql(key)}${or} THEN NULL ELSE ${holder} END AS ${holder}`;
}

/** In SQL: or a claim to a `tid` yields to the proven customer of its event. See `namedOwner`. */
const yieldsSql = ` OR (by_tid <> by_cid AND ${ownProofSql('by_tid', "'t:' || tid")} = ${neverProven} AND ${ownProofSql('by_cid', "'c:' || cid")} < ${neverProven})`;

/** Of those events that have one, the holders of their keys, and whether the holder of the `tid` is another customer's. */
export function holdersOf(events: readonly Joinable[]): Askable<Select> {
	const rows = events.map((event) => {
		const { tid = null, cid = null } = joiningKeys(event);
		return [tid, cid];
	});
	return select`${holdersOfEach} FROM (${values(rows)}) AS list ${withAny} /* holders */`;
}

const holdersOfEach = raw(
	`tid, cid, ${unsharedSql('by_tid', "'t:' || tid", yieldsSql)}, ${unsharedSql('by_cid', "'c:' || cid")}, CASE WHEN by_tid IS NULL OR cid IS NULL THEN 0 WHEN ${isAnothersSql('by_tid', 'cid')} THEN 1 ELSE 0 END AS another FROM (SELECT column1 AS tid, column2 AS cid, ${holderSql("'t:' || column1")} AS by_tid, ${holderSql("'c:' || column2")} AS by_cid`,
);

function holdersOfKeys(keys: readonly string[]): Askable<Select> {
	return select`* FROM (SELECT key, ${raw(holderSql('list.key'))} AS vid FROM ${keys} AS list ${withVid} /* holders of keys */`;
}

/** Who held each key up to a moment, one after another. */
export function* holdersUpTo(keys: readonly string[], asOfMs: number): Reading<Map<string, Holder[]>> {
	const first = raw('FROM @claim AS claim WHERE claim.key = list.key AND at <=');
	const rows =
		yield* select`key, (SELECT vid ${first} ${asOfMs} ORDER BY at, vid LIMIT 1) AS vid, (SELECT at ${first} ${asOfMs} ORDER BY at, vid LIMIT 1) AS at, (SELECT unproven_until ${first} ${asOfMs} ORDER BY at, vid LIMIT 1) AS unproven_until FROM ${keys} AS list /* holders up to */`;
	const shown = rows.filter(({ vid }) => vid !== null);
	const unproven = shown
		.filter(({ unproven_until }) => unproven_until !== null)
		.map(({ key }) => String(key));
	const proven = new Map<string, Row>();
	if (unproven.length > 0)
		for (const row of yield* select`key, vid, at, unproven_until FROM @claim AS claim WHERE key IN ${unproven} AND ${raw(provenAtSql('claim'))} <= ${asOfMs} ORDER BY ${raw(holdingOrder('claim'))} /* proven holders up to */`)
			if (!proven.has(String(row.key))) proven.set(String(row.key), row);
	return new Map(
		shown.map((row) => {
			const key = String(row.key);
			const [begun, better] = [row.unproven_until === null ? undefined : row, proven.get(key)];
			return [key, holdersIn(begun, row.unproven_until === null ? row : better)];
		}),
	);
}

/** @param begun who held a key by a claim, until somebody proved one */
function holdersIn(begun: Row | undefined, proven: Row | undefined): Holder[] {
	const provenAtMs = proven ? Number(proven.unproven_until ?? proven.at) : Number.POSITIVE_INFINITY;
	const holderOf = (row: Row, fromMs: number, isProven: boolean): Holder => ({
		vid: String(row.vid),
		atMs: Number(row.at),
		fromMs,
		isProven,
	});
	return [
		...(begun && Number(begun.at) < provenAtMs ? [holderOf(begun, Number(begun.at), false)] : []),
		...(proven ? [holderOf(proven, provenAtMs, true)] : []),
	];
}

/** The visitor that each event names, by `tid`. @param holders rows of `holdersOf` */
export function ownersOf(events: readonly Joinable[], holders: readonly Row[]): Map<string, Owner> {
	if (holders.length === 0) return new Map();
	const holderOf = new Map<string, string>();
	for (const { tid, cid, by_tid, by_cid } of holders) {
		if (typeof by_tid === 'string') holderOf.set(tidKey(String(tid)), by_tid);
		if (typeof by_cid === 'string') holderOf.set(cidKey(String(cid)), by_cid);
	}
	const { test } = new Anothers(holders, 'by_tid');
	// A claim that yields is not among them, so all count alike.
	const proven = (vid: string | undefined) => (vid === undefined ? undefined : { vid, isProven: true });
	return namedAmong(events, (key) => proven(holderOf.get(key)), test);
}

/** The visitor that each event names, by `tid`, for holders that were read before. */
export function namedAmong(
	events: readonly Joinable[],
	holderOf: (key: string) => KeyHolder | undefined,
	isAnothers: IsAnothers,
): Map<string, Owner> {
	const owners = new Map<string, Owner>();
	for (const event of events) {
		const owner = namedOwner(event, { holderOf, isAnothers });
		if (owner) owners.set(event.tid, owner);
	}
	return owners;
}

/** Existing links of visitors to keys. Under the visitors' lock they cannot change. */
export function knownLinks(links: readonly IdentityLink[]): Askable<Query> {
	const rows = earliestLinks(links).map(({ vid, key }) => [vid, key]);
	return sql`SELECT vid, key, at, unproven_until FROM (${values(rows)}) AS shown JOIN @claim AS claim ON claim.vid = shown.column1 AND claim.key = shown.column2 WHERE EXISTS (SELECT 1 FROM @visitor AS visitor WHERE visitor.vid = claim.vid) /* known links */`;
}

/** The links that are new, or earlier or proven earlier than the known ones. @param known rows of `knownLinks` */
export function newLinks(links: readonly IdentityLink[], known: readonly Row[]): IdentityLink[] {
	const knownBy = new Map(known.map((row) => [`${row.vid} ${row.key}`, row]));
	return earliestLinks(links).filter(({ vid, key, atMs, provenAtMs }) => {
		const row = knownBy.get(`${vid} ${key}`);
		return !row || atMs < Number(row.at) || provenAtMs < Number(row.unproven_until ?? row.at);
	});
}

function earliestLinks(links: readonly IdentityLink[]): IdentityLink[] {
	const earliest = new Map<string, IdentityLink>();
	for (const link of links) {
		const name = `${link.vid} ${link.key}`;
		const known = earliest.get(name);
		if (!known) earliest.set(name, link);
		else if (link.atMs < known.atMs || link.provenAtMs < known.provenAtMs)
			earliest.set(name, {
				...known,
				atMs: Math.min(known.atMs, link.atMs),
				provenAtMs: Math.min(known.provenAtMs, link.provenAtMs),
			});
	}
	return [...earliest.values()];
}

const [saved, stored] = [provenAtSql('excluded'), provenAtSql('claim')];

const earlierAt = 'CASE WHEN excluded.at < claim.at THEN excluded.at ELSE claim.at END';
const earlierProof = `CASE WHEN ${saved} <= ${stored} THEN CASE WHEN excluded.unproven_until IS NULL AND excluded.at <= claim.at THEN NULL ELSE ${saved} END WHEN claim.unproven_until IS NULL AND claim.at <= excluded.at THEN NULL ELSE ${stored} END`;
/** In SQL, where a link is saved again: the earlier of both times, and of both proofs. */
export const earlierLink = `at = ${earlierAt}, unproven_until = ${earlierProof}`;
/** In SQL, `earlierLink` where a stored link that has lost its hit counts for nothing. */
const savedLink = raw(
	`at = CASE WHEN claim.unfounded IS NULL THEN ${earlierAt} ELSE excluded.at END, unproven_until = CASE WHEN claim.unfounded IS NULL THEN ${earlierProof} ELSE excluded.unproven_until END, unfounded = NULL WHERE excluded.at < claim.at OR ${saved} < ${stored} OR claim.unfounded IS NOT NULL`,
);

/** @param shared none has a link to keys that too many share */
export function saveLinks(links: readonly IdentityLink[], shared: SharedKeys): Query {
	return savingLinks(links, shared, '/* save links */');
}

/** Saves links. @returns whether one is new or has changed */
export function* changeLinks(links: readonly IdentityLink[], shared: SharedKeys): Steps<boolean> {
	return (yield* savingLinks(links, shared, 'RETURNING vid /* save links */')).length > 0;
}

function savingLinks(all: readonly IdentityLink[], shared: SharedKeys, end: string): Askable<Query> {
	const own = shared.size === 0 ? all : all.filter(({ key }) => !shared.has(key));
	const links = earliestLinks(own);
	const [conflict, last] = [raw('ON CONFLICT (vid, key) DO UPDATE SET'), raw(end)];
	if (links.every(({ atMs, provenAtMs }) => provenAtMs === atMs)) {
		const rows = links.map(({ key, atMs, vid }) => [key, atMs, vid]);
		return sql`INSERT INTO @claim (key, at, vid) ${values(rows)} ${conflict} ${savedLink} ${last}`;
	}
	const rows = links.map(({ key, atMs, vid, provenAtMs }) => [
		key,
		atMs,
		vid,
		provenAtMs === atMs ? null : provenAtMs,
	]);
	return sql`INSERT INTO @claim (key, at, vid, unproven_until) ${values(rows)} ${conflict} ${savedLink} ${last}`;
}

/** Whether nothing proves a link. */
export function isUnproven({ provenAtMs }: IdentityLink): boolean {
	return provenAtMs === neverProven;
}

/** A key that no hit shows. */
export const anyKey = 'r:';

/** Makes the fold of a visitor check the links of all hits, up to the end of the log. */
export function checkAllLinks(vid: string): Query {
	return sql`INSERT INTO @claim (key, at, vid, unfounded) ${values([[anyKey, 0, vid, 1]])} ON CONFLICT (vid, key) DO UPDATE SET unfounded = 1 /* check all links */`;
}

/** An event whose owner may change with new links. */
export interface ContestedEvent extends Joinable {
	readonly subid: string;
	readonly vid: string | null;
	/** See `Owner`. */
	readonly named: number;
}

/** The maximum number of events whose owner a transaction may change because of new links. */
const maxContested = 50;

/** What may change owner when links to keys change. */
export interface ContestedEvents {
	/** Subscription events with one of the keys. Locked. */
	readonly events: readonly ContestedEvent[];
	/** The owners of these events, with and without the new links. */
	readonly vids: readonly string[];
	/** Keys of too many events for a request. The background handles them, see `assignLater`. */
	readonly popular: readonly string[];
	/** Keys that too many share. Nobody has links to them. */
	readonly shared: SharedKeys;
	/** How many visitors have shown each of the other keys. */
	readonly showing: ReadonlyMap<string, number>;
}

/**
 * Locks keys, so that no upload with them is under way, and then the events that have them.
 * @param changing visitors who may gain their first customer, or lose their last, so that they may own other events
 * @param erasing whether to include events of visitors who are being erased
 * @param deleted other keys of which links are deleted: a rebuild, which locks all keys, deletes links before it locks visitors
 * @param locked see `keysOfVisitors`
 */
export function* lockContested(
	keys: readonly string[],
	{
		changing = [],
		erasing = false,
		deleted = [],
		locked,
	}: {
		readonly changing?: readonly string[];
		readonly erasing?: boolean;
		readonly deleted?: readonly string[];
		readonly locked?: KeysOfVisitors;
	} = {},
): Steps<ContestedEvents> {
	const more = yield* keysOfVisitors(changing, locked);
	const all = unique([...keys, ...more.keys]);
	if (all.length + deleted.length + more.tids.length === 0)
		return { events: [], vids: [], popular: [], shared: new Set(), showing: new Map() };
	const { counts } = yield* ask({
		lock: { lock: 'exclusive', keys: unique([...all, ...deleted]) },
		subids: { lock: 'exclusive', keys: more.subids.map(subscriptionKey) },
		counts: countUses(all),
	});
	let left = maxContested;
	const popular = new Set<string>();
	const shared = new Set<string>();
	const showing = new Map<string, number>();
	for (const { key, events, visitors, shared: isShared } of counts) {
		if (Number(events) > left) popular.add(String(key));
		else left -= Number(events);
		if (isShared) shared.add(String(key));
		else showing.set(String(key), Number(visitors));
	}
	const named = (kind: string) =>
		all.filter((key) => key.startsWith(kind) && !popular.has(key)).map((key) => key.slice(kind.length));
	const found = yield* select`tid FROM @subscription_event WHERE cid IN ${named('c:')} /* events of links */`;
	const tids = new Set([...named('t:'), ...found.map(({ tid }) => String(tid)), ...more.tids]);
	const rows = yield* lockEvents([...tids], erasing);
	return { ...(yield* contestedAmong(rows)), popular: [...popular], shared, showing };
}

/** What may change owner with the customers of visitors. */
export interface KeysOfVisitors {
	/** The `tid`s that they have shown. */
	readonly keys: readonly string[];
	/** The subscriptions that they own. */
	readonly subids: readonly string[];
	/** The events that name a customer and only follow these. */
	readonly tids: readonly string[];
	/** Whether they are too many, and all keys are locked instead. */
	readonly isAllLocked: boolean;
}

const noMore: KeysOfVisitors = { keys: [], subids: [], tids: [], isAllLocked: false };

/**
 * The keys of visitors whose customers may change. Where they are too many, nobody may upload, and the background assigns.
 * @param locked what the transaction has locked of these already. To wait for others now could be a deadlock
 * @throws ConcurrentChangeError where others have been added
 */
export function* keysOfVisitors(vids: readonly string[], locked?: KeysOfVisitors): Steps<KeysOfVisitors> {
	if (vids.length === 0) return noMore;
	if (locked?.isAllLocked) return locked;
	const limit = raw(`LIMIT ${maxContested + 1} /* keys of visitors */`);
	const { shown, owned } = yield* ask({
		shown: select`key FROM @claim WHERE vid IN ${vids} AND key >= 't:' AND key < 'u' ${limit}`,
		owned: select`subid FROM @subscription_event WHERE vid IN ${vids} AND named > 0 ${limit}`,
	});
	const subids = subidsOf(owned.map(({ subid }) => ({ subid: String(subid) })));
	const following =
		yield* select`tid FROM @subscription_event WHERE subid IN ${subids} AND named = 0 AND cid IS NOT NULL ${limit}`;
	const keys = shown.map(({ key }) => String(key));
	const areTooMany = [shown, owned, following].some((rows) => rows.length > maxContested);
	if (locked && (areTooMany || !isWithin({ keys, subids }, locked)))
		throw new ConcurrentChangeError('a visitor has gained an event');
	if (areTooMany) {
		yield [{ lock: 'exclusive', keys: 'all' }];
		yield* addTasks(vids.map((vid) => `o:${vid}`));
		return { ...noMore, isAllLocked: true };
	}
	return { keys, subids, tids: following.map(({ tid }) => String(tid)), isAllLocked: false };
}

function isWithin(
	{ keys, subids }: Pick<KeysOfVisitors, 'keys' | 'subids'>,
	locked: KeysOfVisitors,
): boolean {
	return (
		keys.every((key) => locked.keys.includes(key)) && subids.every((subid) => locked.subids.includes(subid))
	);
}

/** The visitors among links who may gain their first customer with them, or lose their last. */
export function customersChange(links: readonly Pick<IdentityLink, 'vid' | 'key'>[]): string[] {
	const shown = links.filter(({ key }) => key.startsWith('c:') && !isMissingKey(key.slice(2)));
	return unique(shown.map(({ vid }) => vid));
}

/**
 * A page of the events that may be a visitor's, or cease to be, when the visitor's customers have changed.
 * @returns rows with `id` and `tid`
 */
export function eventsOfVisitor(vid: string, afterId: number): Askable<Select> {
	const page = raw(`AND cid IS NOT NULL ORDER BY ${sortedId.text} LIMIT ${maxContested}`);
	return select`id, tid FROM (
		SELECT id, tid FROM (SELECT id, tid FROM @subscription_event WHERE tid IN (SELECT substr(key, 3) FROM @claim WHERE vid = ${vid} AND key >= 't:' AND key < 'u') AND id > ${afterId} ${page}) AS shown
		UNION SELECT id, tid FROM (SELECT id, tid FROM @subscription_event WHERE subid IN (SELECT subid FROM @subscription_event WHERE vid = ${vid} AND named > 0) AND named = 0 AND id > ${afterId} ${page}) AS following
		) AS found ORDER BY id LIMIT ${raw(maxContested)} /* events of visitor */`;
}

/**
 * The number of events of each customer id, and of the visitors who have shown each key. Counting stops just above the limits. A
 * `tid` has one event.
 */
function countUses(keys: readonly string[]): Query {
	return select`${usesOfEach} FROM ${keys} AS list /* count uses */`;
}

const usesOfEach = raw(
	`key, (SELECT count(*) FROM (SELECT 1 FROM @subscription_event WHERE list.key < 'd' AND cid = substr(list.key, 3) LIMIT ${maxContested + 1}) AS first) AS events, ${countShowingSql('list.key')} AS visitors, ${isSharedSql('list.key')} AS shared`,
);

/** Keys that too many visitors may share, now that some have new links to them. */
export function perhapsShared(
	links: readonly IdentityLink[],
	{ showing }: Pick<ContestedEvents, 'showing'>,
): string[] {
	const added = Map.groupBy(links, ({ key }) => key);
	return [...added]
		.filter(
			([key, { length }]) => (showing.get(key) ?? 0) + length > maxSharing && !isMissingKey(key.slice(2)),
		)
		.map(([key]) => key);
}

/**
 * Queues the events of popular keys for the background if these links changed who holds the key.
 * @param links the new links
 */
export function* assignLater(popular: readonly string[], links: readonly IdentityLink[]): Steps<void> {
	if (popular.length === 0) return;
	const holders = yield* holdersOfKeys(popular);
	const won = holders.filter(({ key, vid }) => links.some((link) => link.key === key && link.vid === vid));
	yield* addTasks(won.map(({ key }) => String(key)));
}

/** Events that are already locked, and the visitors whom they may move between. @param rows of `lockEvents` */
export function* contestedAmong(rows: readonly Row[]): Steps<Pick<ContestedEvents, 'events' | 'vids'>> {
	const events = rows.map((row) => row as unknown as ContestedEvent);
	const owners = events.flatMap(({ vid }) => (vid === null ? [] : [vid]));
	const { subscribers } = yield* subscriptionsOf(events);
	const holders = yield* holdersOf(events);
	const holding = holders.flatMap(({ by_tid, by_cid }) => [by_tid, by_cid].filter((vid) => vid !== null));
	return { events, vids: unique([...owners, ...holding.map(String), ...subscribers.values()]) };
}

/**
 * Finds subscription events, then locks them all at once in the order of their `tid`.
 * @param erasing whether to include events of visitors who are being erased
 */
export function lockEvents(tids: readonly string[], erasing = true): Askable<Query> {
	return sql`SELECT tid, subid, cid, vid, named FROM @subscription_event WHERE tid IN ${tids}${erasing ? raw('') : notErasing} ORDER BY tid FOR UPDATE /* lock events */`;
}

/** Which of some visitors have links that were not proven at once. Of all others, every event is seen. */
export function unprovenAmong(vids: readonly string[]): Askable<Select> {
	return select`DISTINCT vid FROM @claim WHERE vid IN ${vids} AND unproven_until IS NOT NULL /* unproven */`;
}

/**
 * Assigns events to their owners, and the events that follow them by `subid`.
 * @returns the visitors who gained or lost an event, or whose profile may gain or lose one: whoever claims an event that has followed its
 * subscription sees it by that claim from then on
 */
export function* assignEvents(events: readonly ContestedEvent[]): Steps<Set<string>> {
	if (events.length === 0) return new Set();
	const owners = ownersOf(events, yield* holdersOf(events));
	const renamed = events.filter(({ tid, vid, named }) => {
		const owner = owners.get(tid);
		return owner ? owner.vid !== vid || owner.named !== named : named > 0;
	});
	yield [setOwners(renamed.map(({ tid }) => [tid, owners.get(tid)]))];
	const { subscribers, isAnothers } = yield* subscriptionsOf(events);
	const isRenamed = new Set(renamed);
	const newOwnerOf = (event: ContestedEvent) =>
		ownerOf(event, owners.get(event.tid), subscribers.get(event.subid), isAnothers);
	const following = events.filter((event) => {
		const vid = newOwnerOf(event)?.vid ?? null;
		return !owners.has(event.tid) && vid !== (isRenamed.has(event) ? null : event.vid);
	});
	yield [setOwners(following.map((event) => [event.tid, newOwnerOf(event)]))];
	const moved = events.flatMap((event) => {
		const owner = newOwnerOf(event)?.vid ?? null;
		return owner === event.vid ? [] : [owner, event.vid];
	});
	const followed = yield* followSubscriptions(renamed.map(({ subid }) => subid));
	const kept = renamed.flatMap((event) => {
		const owner = newOwnerOf(event);
		const isSame = owner?.vid === event.vid && owner.named > 0 !== event.named > 0;
		return isSame && event.vid !== null ? [event.vid] : [];
	});
	const claiming = kept.length > 0 ? yield* unprovenAmong(unique(kept)) : [];
	return new Set([
		...moved.filter((vid) => vid !== null),
		...followed,
		...claiming.map(({ vid }) => String(vid)),
	]);
}
