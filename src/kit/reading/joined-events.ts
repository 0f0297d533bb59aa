import {
	type DecidingEvent,
	decidingOrder,
	eventKeys,
	ownersOver,
	type PastOwnership,
	type ShownKey,
	tidKey,
} from '../../core/domain/ownership.ts';
import { compareEntries, type SubscriptionEntry } from '../../core/domain/profile.ts';
import { allEventColumns, subscriptionEntry } from '../../core/domain/subscription-event.ts';
import { ShownCids } from '../../core/store/account/owners/customers.ts';
import { holdersUpTo } from '../../core/store/account/owners/identity-links.ts';
import { findShared, keysOfEvents, sharedIn } from '../../core/store/account/owners/shared-keys.ts';
import { rowsOfNames } from '../../core/store/account/reading/rows.ts';
import type { Reading, Row, Select } from '../../core/store/steps.ts';

/** A subscription event that belonged to a visitor, and the period in which this was known. */
export interface JoinedEvent {
	readonly entry: SubscriptionEntry;
	/** When its `tid` was first shown on a page; undefined if it was not. */
	readonly shownAtMs?: number | undefined;
	/**
	 * When both the upload and the visitor's link existed, and the event was not left out of its profile, see `hidden-events.ts`.
	 * Earlier profiles did not include the event. Infinity: none does.
	 */
	readonly knownFromMs: number;
	/** When the event went to a visitor with a better claim; Infinity if it stayed. */
	readonly knownUntilMs: number;
}

interface PastEvent extends DecidingEvent {
	readonly tid: string;
	readonly subid: string;
	readonly cid: string | null;
	readonly entry: SubscriptionEntry;
	readonly arrivedAtMs: number;
}

/** Many times what a page of ordinary visitors and their subscriptions has. */
const limits = { maxRows: 10_000, maxRowsPerName: 500 };

/** The events of these visitors up to a moment, by `vid`, with the periods in which they belonged to them. */
export function* joinedEvents(vids: readonly string[], asOfMs: number): Reading<Map<string, JoinedEvent[]>> {
	const links = yield* rowsOfNames(vids, {
		sql: 'SELECT vid, key, at, unproven_until FROM @claim WHERE at <= ? AND vid IN ?list',
		values: [asOfMs],
		order: 'key',
		...limits,
	});
	const linksOf = unprovenLinks(links, asOfMs);
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
	const holders = yield* holdersUpTo([...new Set(eventKeys(events))], asOfMs);
	const shared = sharedIn(yield* findShared(keysOfEvents(events)));
	const shown = new ShownCids();
	shown.add(
		yield* rowsOfNames([...new Set(holders.values().flatMap((all) => all.map(({ vid }) => vid)))], {
			sql: "SELECT vid, key, at FROM @claim WHERE at <= ? AND key >= 'c:' AND key < 'd' AND vid IN ?list",
			values: [asOfMs],
			order: 'at',
			...limits,
		}),
	);
	const owned = Map.groupBy(events, ({ subid }) => subid)
		.values()
		.flatMap((all) => {
			const owners = ownersOver(all, {
				holdersOf: (key) => holders.get(key) ?? [],
				shownBy: shown.by,
				shared,
			});
			const seen = new SeenMoments(linksOf, all, owners);
			return all.flatMap((event, index) => {
				const holding = holders.get(tidKey(event.tid)) ?? [];
				return (owners[index] ?? []).map((ownership) => {
					const { vid, knownFromMs, knownUntilMs } = ownership;
					const { atMs: shownAtMs } = holding.find((holder) => holder.vid === vid) ?? holding[0] ?? {};
					const seenFromMs = Math.max(knownFromMs, seen.fromMs(event, ownership));
					return { vid, event: { entry: event.entry, shownAtMs, knownFromMs: seenFromMs, knownUntilMs } };
				});
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

/** Since when events are in their visitors' profiles, for all that links say; see `profiles/hidden-events.ts`. */
class SeenMoments {
	readonly #linksOf: ReadonlyMap<string, ReadonlyMap<string, ShownKey>>;
	/** The events that have ever named each visitor, and since when. */
	readonly #naming = new Map<string, { readonly event: PastEvent; readonly fromMs: number }[]>();

	/**
	 * @param linksOf the links of visitors who have an unproven one, by key
	 * @param events of one subscription
	 */
	constructor(
		linksOf: ReadonlyMap<string, ReadonlyMap<string, ShownKey>>,
		events: readonly PastEvent[],
		owners: readonly (readonly PastOwnership[])[],
	) {
		this.#linksOf = linksOf;
		for (const [index, event] of events.entries())
			for (const { vid, isNamed, knownFromMs: fromMs } of owners[index] ?? [])
				if (isNamed && linksOf.has(vid))
					this.#naming.getOrInsertComputed(vid, () => []).push({ event, fromMs });
	}

	fromMs(event: PastEvent, { vid, isNamed }: PastOwnership): number {
		if (!this.#linksOf.has(vid)) return Number.NEGATIVE_INFINITY;
		if (isNamed) return this.#linkedFromMs(event, vid, event.arrivedAtMs);
		const naming = this.#naming.get(vid) ?? [];
		return Math.min(
			Number.POSITIVE_INFINITY,
			...naming.map(({ event: other, fromMs }) =>
				Math.max(fromMs, this.#linkedFromMs(other, vid, event.arrivedAtMs)),
			),
		);
	}

	/** Since when a link of a visitor to an event is proven, or not later than an arrival. */
	#linkedFromMs(event: PastEvent, vid: string, arrivedAtMs: number): number {
		const links = this.#linksOf.get(vid);
		const times = eventKeys([event]).flatMap((key) => {
			const link = links?.get(key);
			if (!link) return [];
			return [link.atMs <= arrivedAtMs ? link.atMs : link.provenAtMs];
		});
		return Math.min(Number.POSITIVE_INFINITY, ...times);
	}
}

/** The links of those visitors who have an unproven one. @param rows of `claim` */
function unprovenLinks(rows: readonly Row[], asOfMs: number): Map<string, Map<string, ShownKey>> {
	const unproven = new Set(rows.filter((row) => row.unproven_until !== null).map(({ vid }) => String(vid)));
	const linksOf = new Map<string, Map<string, ShownKey>>();
	for (const row of rows) {
		const [vid, atMs] = [String(row.vid), Number(row.at)];
		if (!unproven.has(vid)) continue;
		const provenMs = Number(row.unproven_until ?? atMs);
		const provenAtMs = provenMs <= asOfMs ? provenMs : Number.POSITIVE_INFINITY;
		linksOf.getOrInsertComputed(vid, () => new Map()).set(String(row.key), { vid, atMs, provenAtMs });
	}
	return linksOf;
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
			sql: `SELECT ${allEventColumns.join(', ')} FROM @subscription_event WHERE received_at <= ?${where} AND ${column} IN ?list` as Select['sql'],
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
	const arrivedAtMs = Number(row.arrived_at ?? atMs);
	return { tid, subid, cid, atMs, revenuePence, evt: entry.evt, entry, arrivedAtMs };
}
