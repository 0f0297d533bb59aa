import type { HitRecord } from '../../core/domain/hit.ts';
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
import { samePageMs } from '../../core/domain/touch.ts';
import { ShownCids, shownCidsOf } from '../../core/store/account/owners/customers.ts';
import { holdersUpTo, namedAmong } from '../../core/store/account/owners/identity-links.ts';
import { allShared } from '../../core/store/account/owners/shared-keys.ts';
import {
	type Reading,
	raw,
	rowsOf,
	type Select,
	type Stream,
	select,
	tuplesOf,
	type Value,
} from '../../core/store/steps.ts';

/** Rows of a page; bounds memory. */
const pageRows = 5000;
/** Names in one statement. */
const maxNames = 1000;

type ToSelect<Given> = (given: Given) => Pick<Select, 'sql' | 'values'>;

function each<Tuple extends readonly Value[]>(take: (row: Tuple) => void): Stream['take'] {
	return (rows) => {
		for (const row of tuplesOf<Tuple>(rows)) take(row);
	};
}

/** Reads pages of rows, each after the last row of the page before. */
function* inPages<Tuple extends readonly Value[]>(
	query: ToSelect<Tuple | undefined>,
	take: (row: Tuple) => void,
): Reading<void> {
	yield [
		{
			next: (before) => {
				if (before && before.length < pageRows) return undefined;
				return { ...query(tuplesOf<Tuple>(before).at(-1)), asTuples: true };
			},
			take: each(take),
		},
	];
}

/** Reads the rows of many names, a page of names at a time: of several queries, beside each other. */
function* forNames(
	names: readonly string[],
	queries: readonly ToSelect<readonly string[]>[],
	take: Stream['take'],
): Reading<void> {
	yield queries.map((query) => {
		let from = 0;
		return {
			next: () => {
				if (from >= names.length) return undefined;
				const some = names.slice(from, from + maxNames);
				from += maxNames;
				return { ...query(some), asTuples: true as const };
			},
			take,
		};
	});
}

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

/** A touch as its row. There may be millions, so no object is made for each. */
export type TouchRow = readonly [vid: string, atMs: number, origin: string];

/** Passes on the touches of all visitors up to a moment, by `vid` and time. */
export function* eachTouch(asOfMs: number, take: (touch: TouchRow) => void): Reading<void> {
	yield* inPages<TouchRow>(
		(last) =>
			select`vid, at, origin FROM @touch WHERE (vid, at) > (${last?.[0] ?? ''}, ${last?.[1] ?? Number.MIN_SAFE_INTEGER}) AND at <= ${asOfMs} ORDER BY vid, at LIMIT ${raw(pageRows)} /* each touch */`,
		take,
	);
}

/** The same for some visitors. */
export function* touchesOfVisitors(
	vids: readonly string[],
	asOfMs: number,
	take: (touch: TouchRow) => void,
): Reading<void> {
	yield* forNames(
		vids,
		[
			(some) =>
				select`vid, at, origin FROM @touch WHERE vid IN ${some} AND at <= ${asOfMs} ORDER BY vid, at /* touches of */`,
		],
		each(take),
	);
}

/** A hit as its row: as many as there are, no object is made for each. */
export type HitRow = readonly [vid: string, atMs: number, body: string];

/** Passes on some visitors' hits, later than a moment and up to another. All hits of a visitor come together. */
export function* hitsOfVisitors(
	vids: readonly string[],
	{ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
	take: (hits: readonly HitRow[]) => void,
): Reading<void> {
	yield* forNames(
		vids,
		[
			(some) =>
				select`vid, at, body FROM @logged_hit WHERE vid IN ${some} AND at > ${fromMs} AND at <= ${untilMs} /* hits of */`,
		],
		(rows) => take(tuplesOf(rows)),
	);
}

/** Visitors with a touch in a period. */
export function* visitorsTouchedIn({ fromMs, toMs }: { fromMs: number; toMs: number }): Reading<Set<string>> {
	const vids = new Set<string>();
	yield* inPages<[atMs: number, vid: string]>(
		(last) =>
			select`at, vid FROM @touch WHERE (at, vid) > (${last?.[0] ?? fromMs}, ${last?.[1] ?? ''}) AND at < ${toMs} ORDER BY at, vid LIMIT ${raw(pageRows)} /* touched in */`,
		([, vid]) => vids.add(vid),
	);
	return vids;
}

/** Passes on when and how visitors arrived in a period, in order of time, without touches that repeat the previous one. */
export function* arrivalsIn(
	{ fromMs, toMs }: { fromMs: number; toMs: number },
	take: (atMs: number, origin: string, vid: string) => void,
): Reading<void> {
	const repeats = new Repeats();
	yield* inPages<[atMs: number, vid: string, origin: string]>(
		(last) =>
			select`at, vid, origin FROM @touch WHERE (at, vid) > (${last?.[0] ?? fromMs - samePageMs}, ${last?.[1] ?? ''}) AND at < ${toMs} ORDER BY at, vid LIMIT ${raw(pageRows)} /* arrivals in */`,
		([atMs, vid, origin]) => {
			const isRepeat = repeats.add(atMs, vid, origin);
			if (atMs >= fromMs && !isRepeat) take(atMs, origin, vid);
		},
	);
}

/** When the parts of a period begin in which there are many touches, in order. Parts are counted from 1970. */
export function* crowdedParts(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	{ lengthMs, minArrivals }: { readonly lengthMs: number; readonly minArrivals: number },
): Reading<number[]> {
	// By the index alone, which takes a tenth of reading where all of them came from.
	const rows =
		yield* select`at / ${raw(lengthMs)} AS part FROM @touch WHERE at >= ${fromMs} AND at < ${toMs} GROUP BY at / ${raw(lengthMs)} HAVING count(*) >= ${minArrivals} ORDER BY 1 /* crowded parts */`;
	return rows.map(({ part }) => Number(part) * lengthMs);
}

/** Touches of a period by mail, in order of time. */
export function* mailTouchesIn(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	take: (atMs: number, vid: string, origin: string) => void,
): Reading<void> {
	const begin = '["email",';
	yield* inPages<[atMs: number, vid: string, origin: string]>(
		(last) =>
			select`at, vid, origin FROM @touch WHERE (at, vid) > (${last?.[0] ?? fromMs}, ${last?.[1] ?? ''}) AND at < ${toMs} AND substr(origin, 1, ${raw(begin.length)}) = ${begin} ORDER BY at, vid LIMIT ${raw(pageRows)} /* mail touches in */`,
		([atMs, vid, origin]) => take(atMs, vid, origin),
	);
}

/** Those among some visitors of whom one hit is stored up to a moment, without an event or a customer id. */
export function* quietVisitors(vids: readonly string[], asOfMs: number): Reading<Set<string>> {
	const quiet = new Set<string>();
	yield* forNames(
		vids,
		[
			(some) =>
				select`vid, min(body) AS body FROM @logged_hit WHERE vid IN ${some} AND at <= ${asOfMs} GROUP BY vid HAVING count(*) = 1 /* quiet visitors */`,
		],
		each<[vid: string, body: string]>(([vid, body]) => {
			const { events, cid } = JSON.parse(body) as HitRecord;
			if (events.length === 0 && cid === null) quiet.add(vid);
		}),
	);
	return quiet;
}

/** Touches of a period, the latest first: after the last one of an earlier page, if there is one. */
export function* latestTouches(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	limit: number,
	last: TouchRow = ['', toMs, ''],
): Reading<TouchRow[]> {
	const rows =
		yield* select`vid, at, origin FROM @touch WHERE (at, vid) < (${last[1]}, ${last[0]}) AND at >= ${fromMs} ORDER BY at DESC, vid DESC LIMIT ${limit} /* latest touches */`;
	return rows.map(({ vid, at, origin }) => [String(vid), Number(at), String(origin)]);
}

/** Tells which touches of many visitors, in order of time, repeat their visitor's previous one. Remembers an hour at most. */
class Repeats {
	#recent = new Map<string, readonly [atMs: number, origin: string]>();
	#earlier = this.#recent;
	#beganMs = Number.NEGATIVE_INFINITY;

	/** @returns whether it is a repeat */
	add(atMs: number, vid: string, origin: string): boolean {
		if (atMs - this.#beganMs >= samePageMs) {
			this.#earlier = this.#recent;
			this.#recent = new Map();
			this.#beganMs = atMs;
		}
		const [beforeMs, before] = this.#recent.get(vid) ?? this.#earlier.get(vid) ?? [];
		this.#recent.set(vid, [atMs, origin]);
		return before === origin && atMs - (beforeMs as number) < samePageMs;
	}
}

/** When the first stored hit was, or the first touch that is kept of a deleted one; infinite if there is none. */
export function* firstVisitMs(): Reading<number> {
	// With `min`, SQLite would read them all.
	const firsts = yield* rowsOf([
		select`at FROM @every_hit ORDER BY at LIMIT 1 /* first hit */`,
		select`at FROM @touch ORDER BY at LIMIT 1 /* first touch */`,
	]);
	return Math.min(...firsts.map(({ at }) => Number(at)));
}

/** When the first event was received; infinite if there is none. */
export function* firstReceivedMs(): Reading<number> {
	const [row] =
		yield* select`received_at FROM @subscription_event ORDER BY received_at LIMIT 1 /* first event */`;
	return row ? Number(row.received_at) : Number.POSITIVE_INFINITY;
}

/** When the first hit, kept touch or event was. */
export function* firstMomentMs(): Reading<number> {
	return Math.min(yield* firstVisitMs(), yield* firstReceivedMs());
}

/** How many hits there are in each of some spans. */
export function* hitsIn(spans: readonly { fromMs: number; toMs: number }[]): Reading<number[]> {
	const counts = yield* rowsOf(
		spans.map(
			({ fromMs, toMs }) =>
				select`count(*) AS hits FROM @every_hit WHERE at >= ${fromMs} AND at < ${toMs} /* hits in */`,
		),
	);
	return counts.map(({ hits }) => Number(hits));
}

/** How many hits there are in parts of a period, by the number of the part since 1970. @param partMs a whole number */
export function* hitsByPart(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	partMs: number,
): Reading<Map<number, number>> {
	const rows =
		yield* select`at / ${raw(partMs)} AS part, count(*) AS hits FROM @every_hit WHERE at >= ${fromMs} AND at < ${toMs} GROUP BY at / ${raw(partMs)} ORDER BY 1 /* hits by part */`;
	return new Map(rows.map(({ part, hits }) => [Number(part), Number(hits)]));
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
