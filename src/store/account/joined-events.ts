import { type Kysely, sql } from 'kysely';
import { compareEntries, type SubscriptionEntry } from '../../domain/profile.ts';
import { storedEventColumns, subscriptionEntry } from '../../domain/subscription-event.ts';
import { eventKeys } from './identity-links.ts';
import { rowsOfNames } from './rows-of-names.ts';
import type { ClientTables } from './tables.ts';

/** A subscription event that belonged to a visitor, and the period in which this was known. */
export interface JoinedEvent {
	readonly entry: SubscriptionEntry;
	/** When both the upload and the visitor's link existed. Earlier profiles did not include the event. */
	readonly knownFromMs: number;
	/** When the event went to a visitor with a better claim; Infinity if it stayed. */
	readonly knownUntilMs: number;
}

type Database = Kysely<ClientTables>;

/** Who had shown a key first, and when. */
interface Holder {
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
const maxRows = 10_000;
/**
 * Where there are more, only so many rows of each visitor, subscription and customer are read. A client may send one `subid`
 * for everybody, and one `vid` may show any number of `cid`s. Neither must fill the memory.
 */
const maxRowsPerName = 500;

/** The events of these visitors up to a moment, by `vid`, with the periods in which they belonged to them. */
export async function joinedEvents(
	database: Database,
	vids: readonly string[],
	asOfMs: number,
): Promise<Map<string, JoinedEvent[]>> {
	const links = database.selectFrom('claim').select('key').where('at', '<=', asOfMs);
	const linked = await rowsOfNames(links.where('vid', 'in', vids), maxRows, () =>
		vids.map((vid) => links.where('vid', '=', vid).orderBy('key').limit(maxRowsPerName)),
	);
	const keys = [...new Set(linked.map(({ key }) => key))];
	const named = (kind: string) =>
		keys.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length));
	const own = [
		...(await eventsOf(database, 'tid', named('t:'), asOfMs)),
		...(await eventsOf(database, 'cid', named('c:'), asOfMs)),
	];
	if (own.length === 0) return new Map();
	const subids = [...new Set(own.map(({ subid }) => subid))];
	const rows = new Map(
		[...own, ...(await eventsOf(database, 'subid', subids, asOfMs))].map((row) => [row.tid, row]),
	);
	const holders = await holdersOf(database, eventKeys([...rows.values()]), asOfMs);
	const owned = Map.groupBy(rows.values(), ({ subid }) => subid)
		.values()
		.flatMap((events) => ownersOver(events, holders));
	return new Map(
		Map.groupBy(owned, ({ vid }) => vid)
			.entries()
			.map(([vid, own]) => [
				vid,
				own.map(({ event }) => event).sort((one, other) => compareEntries(one.entry, other.entry)),
			]),
	);
}

/** The owners of a subscription's events over time. */
function ownersOver(
	events: readonly EventRow[],
	holders: ReadonlyMap<string, Holder>,
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
	const pages = [];
	for (let from = 0; from < names.length; from += maxValues)
		for (const { where, order } of column === 'subid' ? partsOfSubscriptions : [allEvents]) {
			const events = database
				.selectFrom('subscription_event')
				.select(['id', ...storedEventColumns])
				.where('received_at', '<=', asOfMs)
				.where(where);
			const some = names.slice(from, from + maxValues);
			pages.push(
				await rowsOfNames(events.where(column, 'in', some), maxRows, () =>
					some.map((name) => events.where(column, '=', name).orderBy(order).limit(maxRowsPerName)),
				),
			);
		}
	return pages.flat().map((row) => ({ ...row, rvn: Number(row.rvn), received_at: Number(row.received_at) }));
}

const allEvents = { where: sql<boolean>`1 = 1`, order: sql`id` };
/** A statement for each of the two indexes by `subid`, in its order; see `ownersOfSubscriptions`. */
const partsOfSubscriptions = [
	{ where: sql<boolean>`named > 0`, order: sql`(rvn < 0), received_at, id` },
	{ where: sql<boolean>`named = 0`, order: sql`id` },
];

/** The earliest link to each key, among those made up to then. Thousands of visitors may have shown a key. */
async function holdersOf(
	database: Database,
	keys: readonly string[],
	asOfMs: number,
): Promise<Map<string, Holder>> {
	const holders = new Map<string, Holder>();
	for (let from = 0; from < keys.length; from += maxValues) {
		const some = keys.slice(from, from + maxValues);
		// Both engines name the column of `VALUES` `column1`.
		const list = sql<{ column1: string }>`(VALUES ${sql.join(some.map((key) => sql`(${key})`))})`;
		const rows = await database
			.selectFrom(list.as('list'))
			.select(({ selectFrom }) => {
				const first = selectFrom('claim')
					.whereRef('claim.key', '=', 'list.column1')
					.where('at', '<=', asOfMs)
					.orderBy('at')
					.orderBy('vid')
					.limit(1);
				return ['list.column1 as key', first.select('at').as('at'), first.select('vid').as('vid')];
			})
			.execute();
		for (const { key, at, vid } of rows) if (vid !== null) holders.set(key, { at: Number(at), vid });
	}
	return holders;
}

/** The owners of an event over time: the holder of its `tid`, and until that one appeared, the holder of its `cid`. */
function ownershipPeriods(
	receivedAtMs: number,
	byTid: Holder | undefined,
	byCid: Holder | undefined,
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
