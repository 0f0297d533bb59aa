import {
	cidKey,
	eventKeys,
	type Holder,
	type IsAnothers,
	namesCustomer,
	type Owner,
	ownerOf,
	subscribersAmong,
	subscriptionKey,
	tidKey,
} from '../../core/domain/ownership.ts';
import type { SharedKeys } from '../../core/domain/shared-key.ts';
import {
	type EventLabel,
	eventLabelNames,
	type SubscriptionEvent,
} from '../../core/domain/subscription-event.ts';
import { ShownCids, shownCidsOf } from '../../core/store/account/owners/customers.ts';
import { holdersUpTo, namedAmong } from '../../core/store/account/owners/identity-links.ts';
import { allShared } from '../../core/store/account/owners/shared-keys.ts';
import { type Reading, raw, select, type Value } from '../../core/store/steps.ts';
import { each, forNames, inPages, maxNames, pageRows } from './row-pages.ts';

/** A stored event and its owner. */
export interface JourneyEvent extends Pick<SubscriptionEvent, EventLabel> {
	readonly id: number;
	/** Missing where its owner is the present one. */
	readonly tid?: string;
	readonly subid: string;
	readonly revenuePence: number;
	readonly atMs: number;
	readonly vid: string | null;
	readonly named: Owner['named'];
	/** When its `tid` was first shown on a page, up to the moment. Null where its owner was not found by its `tid`. */
	readonly shownAtMs: number | null;
}

/** There are millions, so they are arrays. Those that name their owner anew have `tid` and `cid` at their end. */
type EventRow = readonly [
	id: number,
	subid: string,
	revenuePence: number,
	atMs: number,
	vid: string | null,
	named: Owner['named'],
	shownAtMs: number | null,
	...labels: Value[],
];
const firstLabel = 7;

/** @param shownAt the expression for `shownAtMs`. If it is that of `shownByOwner`, it takes the moment as its first value */
function columnsWith(shownAt: string): string {
	return `id, subid, rvn, received_at, vid, named, ${shownAt}, ${eventLabelNames.join(', ')}`;
}

const shownByOwner =
	"(SELECT at FROM @claim AS claim WHERE claim.vid = event.vid AND claim.key = 't:' || event.tid AND claim.at <= ?)";
const eventColumns = columnsWith(`CASE WHEN named = 2 THEN ${shownByOwner} END`);
const pastEventColumns = `${columnsWith('NULL')}, tid, cid`;

/** All events received up to a moment. @param isPast whether to give the owners as of that moment */
export function* eventsUpTo(asOfMs: number, isPast: boolean): Reading<JourneyEvent[]> {
	const events: JourneyEvent[] = [];
	const past: EventRow[] = [];
	const toEvent = eventReader();
	yield* inPages<EventRow>(
		(last) => ({
			sql: `SELECT ${isPast ? pastEventColumns : eventColumns} FROM @subscription_event AS event WHERE id > ? AND received_at <= ? ORDER BY id LIMIT ${pageRows} /* events up to */`,
			values: [...(isPast ? [] : [asOfMs]), last?.[0] ?? 0, asOfMs],
		}),
		(row) => (isPast ? past.push(row) : events.push(toEvent(row))),
	);
	if (!isPast) return events;
	const shared = yield* allShared();
	const shown = new ShownCids();
	const named: (JourneyEvent & Pick<SubscriptionEvent, 'tid'>)[] = [];
	for (let from = 0; from < past.length; from += maxNames) {
		const some = past.slice(from, from + maxNames);
		for (const event of yield* withOwnersAsOf(some, toEvent, { asOfMs, shown, shared })) named.push(event);
	}
	const subscribers = subscribersAmong(named, (event) =>
		shared.has(subscriptionKey(event.subid)) ? undefined : ownerNamedBy(event),
	);
	return named.map((event, index) => {
		const joinable = { ...keysOf(past[index] as EventRow), subid: event.subid };
		const owner = ownerOf(
			joinable,
			ownerNamedBy(event),
			subscribers.get(event.subid),
			isAnothersOf(shown, shared),
		);
		return event.named > 0 ? event : { ...event, vid: owner?.vid ?? null };
	});
}

/** The customers of subscriptions: the first `cid` of each that is one person's, in order of arrival, up to a moment. */
export function* customersOfSubscriptions(asOfMs: number): Reading<Map<string, string>> {
	const shared = yield* allShared();
	const cids = new Map<string, string>();
	yield* inPages<readonly [id: number, subid: string, cid: string]>(
		(last) =>
			select`id, subid, cid FROM @subscription_event WHERE id > ${last?.[0] ?? 0} AND received_at <= ${asOfMs} AND cid IS NOT NULL ORDER BY id LIMIT ${raw(pageRows)} /* customers of subscriptions */`,
		([, subid, cid]) => {
			if (!cids.has(subid) && namesCustomer(cid, shared)) cids.set(subid, cid);
		},
	);
	return cids;
}

/** @param shared customers among them are nobody */
function isAnothersOf(shown: ShownCids, shared: SharedKeys): IsAnothers {
	return (vid, cid) => !shared.has(cidKey(cid)) && shown.isAnothers(vid, cid);
}

function keysOf(row: EventRow): { tid: string; cid: string | null } {
	return { tid: row.at(-2) as string, cid: row.at(-1) as string | null };
}

/** The events received in a period, without when their `tid` was shown. */
export function* eventsIn({ fromMs, toMs }: { fromMs: number; toMs: number }): Reading<JourneyEvent[]> {
	const events: JourneyEvent[] = [];
	const toEvent = eventReader();
	yield* inPages<EventRow>(
		(last) =>
			select`${raw(columnsWith('NULL'))} FROM @subscription_event WHERE (received_at, id) > (${last?.[3] ?? fromMs}, ${last?.[0] ?? 0}) AND received_at < ${toMs} ORDER BY received_at, id LIMIT ${raw(pageRows)} /* events in */`,
		(row) => events.push(toEvent(row)),
	);
	return events;
}

/** All events of these subscriptions received up to a moment. */
export function* eventsOfSubscriptions(subids: readonly string[], asOfMs: number): Reading<JourneyEvent[]> {
	const events: JourneyEvent[] = [];
	const toEvent = eventReader();
	yield* forNames(
		subids,
		['named > 0', 'named = 0'].map((part) => (some) => ({
			sql: `SELECT ${eventColumns} FROM @subscription_event AS event WHERE subid IN ?list AND ${part} AND received_at <= ? /* events of */`,
			values: [asOfMs, some, asOfMs],
		})),
		each<EventRow>((row) => events.push(toEvent(row))),
	);
	return events;
}

function ownerNamedBy({ vid, named }: JourneyEvent): Owner | undefined {
	return vid === null || named === 0 ? undefined : { vid, named };
}

type ToEvent = (row: EventRow) => JourneyEvent;

/** @returns a function that keeps one text for each label: there are few */
function eventReader(): ToEvent {
	const kept = new Map<Value | undefined, Value | undefined>();
	const once = (label: Value | undefined) => kept.getOrInsert(label, label);
	return (row) => {
		const [id, subid, revenuePence, atMs, vid, named, shownAtMs] = row;
		const labels: Record<string, unknown> = {};
		for (const [index, name] of eventLabelNames.entries()) labels[name] = once(row[firstLabel + index]);
		return {
			id,
			subid,
			revenuePence,
			atMs,
			vid,
			named,
			shownAtMs,
			...(labels as Pick<SubscriptionEvent, EventLabel>),
		};
	};
}

/** Events with the owners that they named as of a moment. @param shown gains the customers of the holders of their keys */
function* withOwnersAsOf(
	rows: readonly EventRow[],
	toEvent: ToEvent,
	{
		asOfMs,
		shown,
		shared,
	}: { readonly asOfMs: number; readonly shown: ShownCids; readonly shared: SharedKeys },
): Reading<(JourneyEvent & Pick<SubscriptionEvent, 'tid'>)[]> {
	const naming = rows.map(keysOf);
	const holders = new Map<string, Holder>();
	for (const [key, all] of yield* holdersUpTo([...new Set(eventKeys(naming))], asOfMs)) {
		const last = all.at(-1);
		if (last && !shared.has(key)) holders.set(key, last);
	}
	const unknown = [...new Set(holders.values().map(({ vid }) => vid))].filter(
		(vid) => shown.by(vid).length === 0,
	);
	shown.add(yield* shownCidsOf(unknown, asOfMs));
	const owners = namedAmong(naming, (key) => holders.get(key), isAnothersOf(shown, shared));
	return rows.map((row) => {
		const event = toEvent(row);
		const { tid } = keysOf(row);
		const { vid = null, named = 0 } = owners.get(tid) ?? {};
		const shownAtMs = named === 2 ? (holders.get(tidKey(tid))?.atMs ?? null) : null;
		return { ...event, tid, vid, named, shownAtMs };
	});
}

/** When the first event was received; infinite if there is none. */
export function* firstReceivedMs(): Reading<number> {
	const [row] =
		yield* select`received_at FROM @subscription_event ORDER BY received_at LIMIT 1 /* first event */`;
	return row ? Number(row.received_at) : Number.POSITIVE_INFINITY;
}

/** The visitors among these who have subscribed up to a moment. */
export function* visitorsWithEvents(vids: readonly string[], asOfMs: number): Reading<Set<string>> {
	const subscribers = new Set<string>();
	yield* forNames(
		vids,
		[
			(some) =>
				select`DISTINCT vid FROM @subscription_event WHERE vid IN ${some} AND received_at <= ${asOfMs} /* subscribers */`,
		],
		each<[vid: string]>(([vid]) => subscribers.add(vid)),
	);
	return subscribers;
}
