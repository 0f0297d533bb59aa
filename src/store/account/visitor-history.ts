import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import {
	compareEntries,
	type HitEntry,
	type Profile,
	profileOf,
	type SubscriptionEntry,
} from '../../domain/profile.ts';
import { storedEventColumns, subscriptionEntry } from '../../domain/subscription-event.ts';
import type { ClientTables, HitTables } from './tables.ts';
import { hitEntry } from './visitor-log.ts';

/** A subscription event that belonged to a visitor, and the period in which this was known. */
export interface JoinedEvent {
	readonly entry: SubscriptionEntry;
	/** When both the upload and the visitor's link existed. Earlier profiles did not include the event. */
	readonly knownFromMs: number;
	/** When the event went to a visitor with a better claim; Infinity if it stayed. */
	readonly knownUntilMs: number;
}

/** A visitor's entries up to a moment. */
export interface VisitorHistory {
	readonly vid: string;
	/** In the order in which profiles apply them. */
	readonly hits: readonly HitEntry[];
	readonly events: readonly JoinedEvent[];
}

export interface HistoryExtent {
	readonly hits: number;
	readonly uploads: number;
	/** Time of the first hit; Infinity if there is none. */
	readonly fromMs: number;
	/** Time of the last hit or upload; -Infinity if there is none. */
	readonly toMs: number;
}

export interface FirstHit {
	readonly vid: string;
	readonly atMs: number;
	/** JSON. */
	readonly body: string;
}

/** The moment of a hit. */
export interface HitMoment {
	readonly vid: string;
	readonly atMs: number;
}

type Database = Kysely<ClientTables>;

interface LinkRow {
	readonly key: string;
	readonly at: number;
	readonly vid: string;
}

type EventRow = Omit<ClientTables['subscription_event'], 'vid' | 'named'>;

/** The owner of an event for a time. */
interface PastOwnership {
	readonly vid: string;
	readonly knownFromMs: number;
	readonly knownUntilMs: number;
}

/** Values per statement; engines take at most 32,766. */
const maxValues = 5000;
/** Rows per statement: many times what a page of ordinary visitors and their subscriptions has. */
const maxHits = 20_000;
const maxEvents = 10_000;
/**
 * Where a page has more, only so many rows of each name are read: the latest hits of a visitor, the first events of a
 * subscription or customer. One `vid` may send hits for months, and a client may send one `subid` for everybody. Neither
 * must fill the memory.
 */
const maxHitsPerVisitor = 5000;
const maxEventsPerName = 500;

/** The extent of the history up to a moment. */
export async function historyExtent(
	database: Database,
	asOfMs: number,
	{ all }: HitTables,
): Promise<HistoryExtent> {
	const { uploads, uploaded } = await database
		.selectFrom('subscription_event')
		.select(({ fn }) => [fn.countAll<number>().as('uploads'), fn.max('received_at').as('uploaded')])
		.where('received_at', '<=', asOfMs)
		.executeTakeFirstOrThrow();
	let [hits, fromMs] = [0, Number.POSITIVE_INFINITY];
	let toMs = uploaded === null ? Number.NEGATIVE_INFINITY : Number(uploaded);
	for (const table of all) {
		const { count, from, to } = await database
			.selectFrom(table)
			.select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('at').as('from'), fn.max('at').as('to')])
			.where('at', '<=', asOfMs)
			.executeTakeFirstOrThrow();
		hits += Number(count);
		fromMs = Math.min(fromMs, from === null ? Number.POSITIVE_INFINITY : Number(from));
		toMs = Math.max(toMs, to === null ? Number.NEGATIVE_INFINITY : Number(to));
	}
	return { hits, uploads: Number(uploads), fromMs, toMs };
}

/** The latest hits up to a moment, latest first. */
export async function hitsBefore(
	database: Database,
	atMs: number,
	limit: number,
	{ all }: HitTables,
): Promise<HitMoment[]> {
	const rows: HitMoment[] = [];
	for (const table of all)
		for (const { vid, at } of await database
			.selectFrom(table)
			.select(['vid', 'at'])
			.where('at', '<=', atMs)
			.orderBy('at', 'desc')
			.limit(limit)
			.execute())
			rows.push({ vid, atMs: Number(at) });
	return rows.sort((a, b) => b.atMs - a.atMs).slice(0, limit);
}

/** The first hits of these visitors up to a moment. Of several in one millisecond, the first by text. */
export async function firstHits(
	database: Database,
	vids: readonly string[],
	asOfMs: number,
	{ ofVisitors }: HitTables,
): Promise<FirstHit[]> {
	if (vids.length === 0) return [];
	const rows = await database
		.selectFrom((from) =>
			from
				.selectFrom(ofVisitors)
				.select(({ fn }) => ['vid', fn.min('at').as('at')])
				.where('vid', 'in', vids)
				.where('at', '<=', asOfMs)
				.groupBy('vid')
				.as('first'),
		)
		.innerJoin(`${ofVisitors} as begun`, (join) =>
			join.onRef('begun.vid', '=', 'first.vid').onRef('begun.at', '=', 'first.at'),
		)
		.select(['begun.vid', 'begun.at', 'begun.body'])
		.execute();
	const first = new Map<string, FirstHit>();
	for (const { vid, at, body } of rows) {
		const known = first.get(vid);
		if (!known || body < known.body) first.set(vid, { vid, atMs: Number(at), body });
	}
	return [...first.values()];
}

/**
 * The histories of these visitors up to a moment, as they were known then. Later hits, uploads and links are ignored,
 * even if an upload belongs to another visitor today. Uses short reads that block nobody.
 */
export async function visitorHistories(
	database: Database,
	vids: readonly string[],
	asOfMs: number,
	{ ofVisitors }: HitTables,
): Promise<VisitorHistory[]> {
	if (vids.length === 0) return [];
	const [hits, events] = await Promise.all([
		hitsOf(database, ofVisitors, vids, asOfMs),
		joinedEvents(database, vids, asOfMs),
	]);
	return vids.flatMap((vid) => {
		const ofVisitor = hits.get(vid);
		return ofVisitor ? [{ vid, hits: ofVisitor.sort(compareEntries), events: events.get(vid) ?? [] }] : [];
	});
}

/** The visitor's stored profile as of the moment up to which the history goes. */
export function profileAtEnd({ hits, events }: VisitorHistory): Profile {
	const held = events.filter(({ knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY);
	return profileOf([...hits, ...held.map(({ entry }) => entry)]) as Profile;
}

async function hitsOf(
	database: Database,
	table: HitTables['ofVisitors'],
	vids: readonly string[],
	asOfMs: number,
): Promise<Map<string, HitEntry[]>> {
	const hits = database.selectFrom(table).select(['vid', 'sid', 'at', 'body']).where('at', '<=', asOfMs);
	const rows = await rowsOfNames(hits.where('vid', 'in', vids), maxHits, () =>
		vids.map((vid) => hits.where('vid', '=', vid).orderBy('at', 'desc').limit(maxHitsPerVisitor)),
	);
	const entries = new Map<string, HitEntry[]>();
	for (const { vid, sid, at, body: text } of rows)
		append(entries, vid, hitEntry({ sid, atMs: Number(at), body: JSON.parse(text), text }));
	return entries;
}

async function joinedEvents(
	database: Database,
	vids: readonly string[],
	asOfMs: number,
): Promise<Map<string, JoinedEvent[]>> {
	const joined = new Map<string, JoinedEvent[]>();
	const linked = await database
		.selectFrom('claim')
		.select('key')
		.distinct()
		.where('vid', 'in', vids)
		.where('at', '<=', asOfMs)
		.execute();
	const keys = linked.map(({ key }) => key);
	const named = (kind: string) =>
		keys.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length));
	const own = [
		...(await eventsOf(database, 'tid', named('t:'), asOfMs)),
		...(await eventsOf(database, 'cid', named('c:'), asOfMs)),
	];
	if (own.length === 0) return joined;
	const subids = [...new Set(own.map(({ subid }) => subid))];
	const rows = new Map(
		[...own, ...(await eventsOf(database, 'subid', subids, asOfMs))].map((row) => [row.tid, row]),
	);
	const holders = await holdersOf(
		database,
		[...rows.values()].flatMap(({ tid, cid }) => (cid === null ? [`t:${tid}`] : [`t:${tid}`, `c:${cid}`])),
		asOfMs,
	);
	const ofSubscriptions = Map.groupBy(rows.values(), ({ subid }) => subid);
	for (const events of ofSubscriptions.values())
		for (const { vid, event } of ownersOver(events, holders)) append(joined, vid, event);
	for (const events of joined.values()) events.sort((a, b) => compareEntries(a.entry, b.entry));
	return joined;
}

/** The owners of a subscription's events over time. */
function ownersOver(
	events: readonly EventRow[],
	holders: ReadonlyMap<string, LinkRow>,
): { vid: string; event: JoinedEvent }[] {
	const all = events
		.map((row) => ({
			row,
			entry: subscriptionEntry(row),
			held: ownershipPeriods(
				row.received_at,
				holders.get(`t:${row.tid}`),
				row.cid === null ? undefined : holders.get(`c:${row.cid}`),
			),
		}))
		.sort((a, b) => compareForOwner(a.row, b.row));
	const subscriber = all.find(({ held }) => held.length > 0)?.held.at(-1);
	return all.flatMap(({ row, entry, held }) =>
		withSubscriber(held, subscriber, row.received_at).map(({ vid, ...known }) => ({
			vid,
			event: { entry, ...known },
		})),
	);
}

/** The order in which events decide the owner of their subscription, see `ownersOfSubscriptions`. */
function compareForOwner(a: EventRow, b: EventRow): number {
	return Number(a.rvn < 0) - Number(b.rvn < 0) || a.received_at - b.received_at || a.id - b.id;
}

/** Until an event named somebody, it belonged to the owner of its subscription. */
function withSubscriber(
	held: readonly PastOwnership[],
	subscriber: PastOwnership | undefined,
	receivedAtMs: number,
): readonly PastOwnership[] {
	if (!subscriber) return held;
	const knownFromMs = Math.max(receivedAtMs, subscriber.knownFromMs);
	const [first, ...later] = held;
	if (!first) return [{ vid: subscriber.vid, knownFromMs, knownUntilMs: Number.POSITIVE_INFINITY }];
	if (knownFromMs >= first.knownFromMs) return held;
	if (first.vid === subscriber.vid) return [{ ...first, knownFromMs }, ...later];
	return [{ vid: subscriber.vid, knownFromMs, knownUntilMs: first.knownFromMs }, ...held];
}

async function eventsOf(
	database: Database,
	column: 'tid' | 'cid' | 'subid',
	names: readonly string[],
	asOfMs: number,
): Promise<EventRow[]> {
	// One statement for each of the two indexes by `subid`.
	const parts =
		column === 'subid' ? [sql<boolean>`named > 0`, sql<boolean>`named = 0`] : [sql<boolean>`1 = 1`];
	const pages = [];
	for (let from = 0; from < names.length; from += maxValues)
		for (const part of parts)
			pages.push(await pageOfEvents(database, column, names.slice(from, from + maxValues), part, asOfMs));
	return pages.flat().map((row) => ({ ...row, rvn: Number(row.rvn), received_at: Number(row.received_at) }));
}

function pageOfEvents(
	database: Database,
	column: 'tid' | 'cid' | 'subid',
	names: readonly string[],
	part: RawBuilder<boolean>,
	asOfMs: number,
): Promise<EventRow[]> {
	const events = database
		.selectFrom('subscription_event')
		.select(['id', ...storedEventColumns])
		.where('received_at', '<=', asOfMs)
		.where(part);
	// The order in which `ownersOfSubscriptions` looks for the owner.
	const first = sql`(rvn < 0), received_at, id`;
	return rowsOfNames(events.where(column, 'in', names), maxEvents, () =>
		names.map((name) => events.where(column, '=', name).orderBy(first).limit(maxEventsPerName)),
	);
}

/**
 * Reads the rows of several names in one statement.
 * @param limited statements with limits, one for each name, for when there are more than `max` rows
 */
async function rowsOfNames<Output>(
	all: SelectQueryBuilder<ClientTables, keyof ClientTables, Output>,
	max: number,
	limited: () => readonly SelectQueryBuilder<ClientTables, keyof ClientTables, Output>[],
): Promise<Output[]> {
	const rows = await all.limit(max + 1).execute();
	if (rows.length <= max) return rows as Output[];
	const ofNames = [];
	for (const one of limited()) ofNames.push((await one.execute()) as Output[]);
	return ofNames.flat();
}

/** The earliest links to each key, among those made up to then. */
async function holdersOf(
	database: Database,
	keys: readonly string[],
	asOfMs: number,
): Promise<Map<string, LinkRow>> {
	const holders = new Map<string, LinkRow>();
	for (let from = 0; from < keys.length; from += maxValues) {
		const rows = await database
			.selectFrom('claim')
			.select(['key', 'at', 'vid'])
			.where('key', 'in', keys.slice(from, from + maxValues))
			.where('at', '<=', asOfMs)
			.where(({ not, exists, selectFrom }) =>
				not(
					exists(
						selectFrom('claim as earlier')
							.select('earlier.vid')
							.whereRef('earlier.key', '=', 'claim.key')
							.where(sql<boolean>`(earlier.at, earlier.vid) < (claim.at, claim.vid)`),
					),
				),
			)
			.execute();
		for (const { key, at, vid } of rows) holders.set(key, { key, at: Number(at), vid });
	}
	return holders;
}

/** The owners of an event over time: the holder of its `tid`, and until that one appeared, the holder of its `cid`. */
function ownershipPeriods(
	receivedAtMs: number,
	byTid: Pick<LinkRow, 'at' | 'vid'> | undefined,
	byCid: Pick<LinkRow, 'at' | 'vid'> | undefined,
): PastOwnership[] {
	const since = (link: { at: number }) => Math.max(receivedAtMs, link.at);
	if (!byTid)
		return byCid
			? [{ vid: byCid.vid, knownFromMs: since(byCid), knownUntilMs: Number.POSITIVE_INFINITY }]
			: [];
	const fromMs = since(byTid);
	const stays = { vid: byTid.vid, knownUntilMs: Number.POSITIVE_INFINITY };
	if (!byCid || since(byCid) >= fromMs) return [{ ...stays, knownFromMs: fromMs }];
	if (byCid.vid === byTid.vid) return [{ ...stays, knownFromMs: since(byCid) }];
	return [
		{ vid: byCid.vid, knownFromMs: since(byCid), knownUntilMs: fromMs },
		{ ...stays, knownFromMs: fromMs },
	];
}

function append<Item>(lists: Map<string, Item[]>, name: string, item: Item): void {
	const list = lists.get(name);
	if (list) list.push(item);
	else lists.set(name, [item]);
}
