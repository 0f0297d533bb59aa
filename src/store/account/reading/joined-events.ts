import {
	type Deciding,
	decidingOrder,
	eventKeys,
	type Holder,
	ownersOver,
	tidKey,
} from '../../../domain/ownership.ts';
import { compareEntries, type SubscriptionEntry } from '../../../domain/profile.ts';
import { storedEventColumns, subscriptionEntry } from '../../../domain/subscription-event.ts';
import type { Reading, Row, Select } from '../../steps.ts';
import { ShownCids } from '../owners/customers.ts';
import { holdersUpTo } from '../owners/identity-links.ts';
import { findShared, keysOfEvents, sharedIn } from '../owners/shared-keys.ts';
import { rowsOfNames } from './rows.ts';

/** A subscription event that belonged to a visitor, and the period in which this was known. */
export interface JoinedEvent {
	readonly entry: SubscriptionEntry;
	/** When its `tid` was first shown on a page; undefined if it was not. */
	readonly shownAtMs?: number | undefined;
	/** When both the upload and the visitor's link existed. Earlier profiles did not include the event. */
	readonly knownFromMs: number;
	/** When the event went to a visitor with a better claim; Infinity if it stayed. */
	readonly knownUntilMs: number;
}

interface PastEvent extends Deciding {
	readonly tid: string;
	readonly subid: string;
	readonly cid: string | null;
	readonly entry: SubscriptionEntry;
}

/** Many times what a page of ordinary visitors and their subscriptions has. */
const limits = { maxRows: 10_000, maxRowsPerName: 500 };

/** The events of these visitors up to a moment, by `vid`, with the periods in which they belonged to them. */
export function* joinedEvents(vids: readonly string[], asOfMs: number): Reading<Map<string, JoinedEvent[]>> {
	const links = yield* rowsOfNames(vids, {
		sql: 'SELECT key FROM @claim WHERE at <= ? AND vid IN ?list',
		values: [asOfMs],
		order: 'key',
		...limits,
	});
	const keys = [...new Set(links.map(({ key }) => String(key)))];
	const named = (kind: string) =>
		keys.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length));
	const own = [
		...(yield* eventsOf('tid', named('t:'), asOfMs)),
		...(yield* eventsOf('cid', named('c:'), asOfMs)),
	];
	if (own.length === 0) return new Map();
	const subids = [...new Set(own.map(({ subid }) => subid))];
	const ofSubscriptions = yield* eventsOf('subid', subids, asOfMs);
	const events = new Map([...own, ...ofSubscriptions].map((event) => [event.tid, event])).values().toArray();
	const holders = holdersIn(yield* holdersUpTo([...new Set(eventKeys(events))], asOfMs));
	const shared = sharedIn(yield* findShared(keysOfEvents(events)));
	const shown = new ShownCids();
	shown.add(
		yield* rowsOfNames([...new Set(holders.values().map(({ vid }) => vid))], {
			sql: "SELECT vid, key, at FROM @claim WHERE at <= ? AND key >= 'c:' AND key < 'd' AND vid IN ?list",
			values: [asOfMs],
			order: 'at',
			...limits,
		}),
	);
	const owned = Map.groupBy(events, ({ subid }) => subid)
		.values()
		.flatMap((all) => {
			const owners = ownersOver(all, { holderOf: (key) => holders.get(key), shownBy: shown.by, shared });
			return all.flatMap(({ tid, entry }, index) => {
				const shownAtMs = holders.get(tidKey(tid))?.atMs;
				return (owners[index] ?? []).map(({ vid, ...known }) => ({
					vid,
					event: { entry, shownAtMs, ...known },
				}));
			});
		});
	return new Map(
		Map.groupBy(owned, ({ vid }) => vid)
			.entries()
			.map(([vid, some]) => [
				vid,
				some.map(({ event }) => event).sort((one, other) => compareEntries(one.entry, other.entry)),
			]),
	);
}

/** @param rows of `holdersUpTo` */
function holdersIn(rows: readonly Row[]): Map<string, Holder> {
	return new Map(
		rows
			.filter(({ vid }) => vid !== null)
			.map(({ key, vid, at }) => [String(key), { vid: String(vid), atMs: Number(at) }]),
	);
}

/** The two indexes by `subid`, and the order in which each has its events. */
const partsOfSubscriptions = [
	{ where: ' AND named > 0', order: decidingOrder },
	{ where: ' AND named = 0', order: 'id' },
];

function* eventsOf(
	column: 'tid' | 'cid' | 'subid',
	names: readonly string[],
	asOfMs: number,
): Reading<PastEvent[]> {
	const events: PastEvent[] = [];
	for (const { where, order } of column === 'subid' ? partsOfSubscriptions : [{ where: '', order: 'id' }])
		for (const row of yield* rowsOfNames(names, {
			sql: `SELECT ${storedEventColumns.join(', ')} FROM @subscription_event WHERE received_at <= ?${where} AND ${column} IN ?list` as Select['sql'],
			values: [asOfMs],
			order,
			...limits,
		}))
			events.push(toPastEvent(row));
	return events;
}

function toPastEvent(row: Row): PastEvent {
	const [atMs, revenuePence] = [Number(row.received_at), Number(row.rvn)];
	const [tid, subid] = [String(row.tid), String(row.subid)];
	const cid = row.cid === null ? null : String(row.cid);
	const entry = subscriptionEntry({ tid, subid, evt: String(row.evt), rvn: revenuePence, received_at: atMs });
	return { tid, subid, cid, atMs, revenuePence, evt: entry.evt, entry };
}
