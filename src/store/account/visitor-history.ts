import { type Kysely, sql } from 'kysely';
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

/** A subscription event that was, or is, a visitor's, and since when that was known. */
export interface JoinedEvent {
	readonly entry: SubscriptionEntry;
	/** When both the upload and the visitor's link on it were there; profiles did not hold it before. */
	readonly knownFromMs: number;
	/** When it went to the visitor who had begun the sale; Infinity where it stayed. */
	readonly knownUntilMs: number;
}

/** What a visitor had done up to a moment. */
export interface VisitorHistory {
	readonly vid: string;
	/** In the order in which profiles are made of them. */
	readonly hits: readonly HitEntry[];
	readonly events: readonly JoinedEvent[];
}

export interface HistoryExtent {
	readonly hits: number;
	/** Of the first hit; Infinity where there is none. */
	readonly fromMs: number;
}

type Database = Kysely<ClientTables>;

interface LinkRow {
	readonly key: string;
	readonly at: number;
	readonly vid: string;
}

/** Values in one statement; engines take at most 32,766. */
const maxValues = 5000;

/** How much of a history there is up to a moment. */
export async function historyExtent(
	database: Database,
	asOfMs: number,
	{ all }: HitTables,
): Promise<HistoryExtent> {
	let extent: HistoryExtent = { hits: 0, fromMs: Number.POSITIVE_INFINITY };
	for (const table of all) {
		const { hits, from } = await database
			.selectFrom(table)
			.select(({ fn }) => [fn.countAll<number>().as('hits'), fn.min('at').as('from')])
			.where('at', '<=', asOfMs)
			.executeTakeFirstOrThrow();
		const fromMs = from === null ? Number.POSITIVE_INFINITY : Number(from);
		extent = { hits: extent.hits + Number(hits), fromMs: Math.min(extent.fromMs, fromMs) };
	}
	return extent;
}

/**
 * What some visitors had done up to a moment, as it was known then: later hits, uploads and links are not seen, not even
 * by way of the visitor whom an upload belongs to today. Short reads; nobody waits for them.
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

/** The profile that the store held of the visitor at the moment up to which the history goes. */
export function profileThen({ hits, events }: VisitorHistory): Profile {
	const held = events.filter(({ knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY);
	return profileOf([...hits, ...held.map(({ entry }) => entry)]) as Profile;
}

async function hitsOf(
	database: Database,
	table: HitTables['ofVisitors'],
	vids: readonly string[],
	asOfMs: number,
): Promise<Map<string, HitEntry[]>> {
	const rows = await database
		.selectFrom(table)
		.select(['vid', 'sid', 'at', 'body'])
		.where('vid', 'in', vids)
		.where('at', '<=', asOfMs)
		.execute();
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
	const rows = new Map(
		[
			...(await eventsOf(database, 'tid', named('t:'), asOfMs)),
			...(await eventsOf(database, 'cid', named('c:'), asOfMs)),
		].map((row) => [row.tid, row]),
	);
	if (rows.size === 0) return joined;
	const holders = await holdersOf(
		database,
		[...rows.values()].flatMap(({ tid, cid }) => (cid === null ? [`t:${tid}`] : [`t:${tid}`, `c:${cid}`])),
		asOfMs,
	);
	for (const { cid, ...row } of rows.values()) {
		const entry = subscriptionEntry(row);
		for (const { vid, ...known } of ownershipPeriods(
			entry.atMs,
			holders.get(`t:${row.tid}`),
			cid === null ? undefined : holders.get(`c:${cid}`),
		))
			append(joined, vid, { entry, ...known });
	}
	for (const events of joined.values()) events.sort((a, b) => compareEntries(a.entry, b.entry));
	return joined;
}

async function eventsOf(
	database: Database,
	column: 'tid' | 'cid',
	names: readonly string[],
	asOfMs: number,
): Promise<Omit<ClientTables['subscription_event'], 'id' | 'vid'>[]> {
	const pages = [];
	for (let from = 0; from < names.length; from += maxValues)
		pages.push(
			await database
				.selectFrom('subscription_event')
				.select(storedEventColumns)
				.where(column, 'in', names.slice(from, from + maxValues))
				.where('received_at', '<=', asOfMs)
				.execute(),
		);
	return pages.flat().map((row) => ({ ...row, rvn: Number(row.rvn), received_at: Number(row.received_at) }));
}

/** The earliest link to each key, of those that had been made by then. */
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

/** Whose an event has been, and when: of who holds its `tid`, and before that showed itself, of who holds its `cid`. */
export function ownershipPeriods(
	receivedAtMs: number,
	byTid: Pick<LinkRow, 'at' | 'vid'> | undefined,
	byCid: Pick<LinkRow, 'at' | 'vid'> | undefined,
): { vid: string; knownFromMs: number; knownUntilMs: number }[] {
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
