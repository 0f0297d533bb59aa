import type { HitRecord } from '../../domain/hit.ts';
import { type Query, type Steps, tuplesOf } from '../steps.ts';
import { holdersUpTo } from './identity-links.ts';

/** Rows of a page; bounds memory. */
const pageRows = 2000;
/** Names in one statement. */
const maxNames = 1000;

/** A stored event and its owner. */
export interface JourneyEvent {
	readonly id: number;
	readonly tid: string;
	readonly subid: string;
	readonly evt: string;
	readonly revenuePence: number;
	readonly atMs: number;
	readonly vid: string | null;
	/** See `Owner`. */
	readonly named: number;
}

const eventColumns = 'id, tid, subid, cid, evt, rvn, received_at, vid, named';
type EventTuple = readonly [
	id: number,
	tid: string,
	subid: string,
	cid: string | null,
	evt: string,
	rvn: number,
	receivedAt: number,
	vid: string | null,
	named: number,
];

/** All events received up to a moment. @param isPast whether to give the owners as of that moment */
export function* eventsUpTo(asOfMs: number, isPast: boolean): Steps<JourneyEvent[]> {
	const events: JourneyEvent[] = [];
	for (let lastId = 0; ; ) {
		const [page] = yield [
			{
				sql: `SELECT ${eventColumns} FROM @subscription_event WHERE id > ? AND received_at <= ? ORDER BY id LIMIT ${pageRows} /* events up to */`,
				values: [lastId, asOfMs],
				asTuples: true,
			},
		];
		const rows = tuplesOf<EventTuple>(page);
		for (const event of isPast ? yield* withOwnersAsOf(rows, asOfMs) : rows.map(toEvent)) events.push(event);
		const last = rows.at(-1);
		if (!last || rows.length < pageRows) break;
		[lastId] = last;
	}
	return isPast ? withSubscriptionOwners(events) : events;
}

/** The events received in a period. */
export function* eventsIn({ fromMs, toMs }: { fromMs: number; toMs: number }): Steps<JourneyEvent[]> {
	const events: JourneyEvent[] = [];
	for (let [lastMs, lastId] = [fromMs, 0]; ; ) {
		const [page] = yield [
			{
				sql: `SELECT ${eventColumns} FROM @subscription_event WHERE (received_at, id) > (?, ?) AND received_at < ? ORDER BY received_at, id LIMIT ${pageRows} /* events in */`,
				values: [lastMs, lastId, toMs],
				asTuples: true,
			},
		];
		const rows = tuplesOf<EventTuple>(page);
		for (const row of rows) events.push(toEvent(row));
		const last = events.at(-1);
		if (!last || rows.length < pageRows) return events;
		[lastMs, lastId] = [last.atMs, last.id];
	}
}

/** All events of these subscriptions received up to a moment. */
export function* eventsOfSubscriptions(subids: readonly string[], asOfMs: number): Steps<JourneyEvent[]> {
	const events: JourneyEvent[] = [];
	for (const some of chunks(subids)) {
		const pages = yield ['named > 0', 'named = 0'].map(
			(part): Query => ({
				sql: `SELECT ${eventColumns} FROM @subscription_event WHERE subid IN ?list AND ${part} AND received_at <= ? /* events of */`,
				values: [some, asOfMs],
				asTuples: true,
			}),
		);
		for (const page of pages) for (const row of tuplesOf<EventTuple>(page)) events.push(toEvent(row));
	}
	return events;
}

/** By index, which costs less than destructuring. */
function toEvent(row: EventTuple): JourneyEvent {
	return {
		id: row[0],
		tid: row[1],
		subid: row[2],
		evt: row[4],
		revenuePence: row[5],
		atMs: row[6],
		vid: row[7],
		named: row[8],
	};
}

/** Events with the owners that they named as of a moment. */
function* withOwnersAsOf(rows: readonly EventTuple[], asOfMs: number): Steps<JourneyEvent[]> {
	const keys = rows.flatMap(([, tid, , cid]) => (cid === null ? [`t:${tid}`] : [`t:${tid}`, `c:${cid}`]));
	const [holders = []] = yield [holdersUpTo([...new Set(keys)], asOfMs)];
	const holderOf = new Map(holders.map(({ key, vid }) => [key, vid]));
	return rows.map((row) => {
		const [, tid, , cid] = row;
		const [byTid, byCid] = [holderOf.get(`t:${tid}`) ?? null, holderOf.get(`c:${cid}`) ?? null];
		const named = byTid === null ? (byCid === null ? 0 : 1) : 2;
		return { ...toEvent(row), vid: (byTid ?? byCid) as string | null, named };
	});
}

/** The same, with events that belong to the owner of their subscription, see `ownersOfSubscriptions`. */
function withSubscriptionOwners(events: readonly JourneyEvent[]): JourneyEvent[] {
	const rank = (event: JourneyEvent) => [Number(event.revenuePence < 0), event.atMs, event.id] as const;
	const first = new Map<string, JourneyEvent>();
	for (const event of events) {
		const known = first.get(event.subid);
		if (event.named > 0 && !(known && isBefore(rank(known), rank(event)))) first.set(event.subid, event);
	}
	return events.map((event) =>
		event.named > 0 ? event : { ...event, vid: first.get(event.subid)?.vid ?? null },
	);
}

function isBefore(a: readonly number[], b: readonly number[]): boolean {
	const at = a.findIndex((value, index) => value !== b[index]);
	return at < 0 || (a[at] as number) < (b[at] as number);
}

/** When each `tid` was first shown on a page, up to a moment. */
export function* firstShown(tids: readonly string[], asOfMs: number): Steps<Map<string, number>> {
	const shown = new Map<string, number>();
	for (const some of chunks(tids)) {
		const [page] = yield [
			{
				sql: 'SELECT key, (SELECT min(at) FROM @claim AS claim WHERE claim.key = list.key AND at <= ?) AS at FROM ?each AS list /* first shown */',
				values: [asOfMs, some.map((tid) => `t:${tid}`)],
				asTuples: true,
			},
		];
		for (const [key, atMs] of tuplesOf<[string, number | null]>(page))
			if (atMs !== null) shown.set(key.slice(2), atMs);
	}
	return shown;
}

/** A touch as its row. There may be millions, so no object is made for each. */
export type TouchRow = readonly [vid: string, atMs: number, origin: string];

/** Passes on the touches of all visitors up to a moment, by `vid` and time. */
export function* eachTouch(asOfMs: number, take: (touch: TouchRow) => void): Steps<void> {
	for (let [vid, atMs] = ['', Number.MIN_SAFE_INTEGER]; ; ) {
		const [page] = yield [
			{
				sql: `SELECT vid, at, origin FROM @touch WHERE (vid, at) > (?, ?) AND at <= ? ORDER BY vid, at LIMIT ${pageRows} /* each touch */`,
				values: [vid, atMs, asOfMs],
				asTuples: true,
			},
		];
		const rows = tuplesOf<TouchRow>(page);
		for (const row of rows) take(row);
		const last = rows.at(-1);
		if (!last || rows.length < pageRows) return;
		[vid, atMs] = last;
	}
}

/** The same for some visitors. */
export function* touchesOfVisitors(
	vids: readonly string[],
	asOfMs: number,
	take: (touch: TouchRow) => void,
): Steps<void> {
	for (const some of chunks(vids)) {
		const [page] = yield [
			{
				sql: 'SELECT vid, at, origin FROM @touch WHERE vid IN ?list AND at <= ? ORDER BY vid, at /* touches of */',
				values: [some, asOfMs],
				asTuples: true,
			},
		];
		for (const row of tuplesOf<TouchRow>(page)) take(row);
	}
}

/** Gives the pages of some visitors' hits, later than a moment and up to another, in no order. */
export function* hitsOfVisitors(
	vids: readonly string[],
	{ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
	take: (vid: string, atMs: number, page: string | null) => void,
): Steps<void> {
	const [rows] = yield [
		{
			sql: 'SELECT vid, at, body FROM @logged_hit WHERE vid IN ?list AND at > ? AND at <= ? /* hits of */',
			values: [vids, fromMs, untilMs],
			asTuples: true,
		},
	];
	for (const [vid, atMs, body] of tuplesOf<[string, number, string]>(rows))
		take(vid, atMs, (JSON.parse(body) as HitRecord).page);
}

/** Visitors with a touch in a period. */
export function* visitorsTouchedIn({ fromMs, toMs }: { fromMs: number; toMs: number }): Steps<Set<string>> {
	const vids = new Set<string>();
	for (let [lastMs, lastVid] = [fromMs, '']; ; ) {
		const [page] = yield [
			{
				sql: `SELECT at, vid FROM @touch WHERE (at, vid) > (?, ?) AND at < ? ORDER BY at, vid LIMIT ${pageRows} /* touched in */`,
				values: [lastMs, lastVid, toMs],
				asTuples: true,
			},
		];
		const rows = tuplesOf<[number, string]>(page);
		for (const [, vid] of rows) vids.add(vid);
		const last = rows.at(-1);
		if (!last || rows.length < pageRows) return vids;
		[lastMs, lastVid] = last;
	}
}

/** The visitors among these who have subscribed up to a moment. */
export function* subscribersAmong(vids: readonly string[], asOfMs: number): Steps<Set<string>> {
	const subscribers = new Set<string>();
	for (const some of chunks(vids)) {
		const [rows = []] = yield [
			{
				sql: 'SELECT DISTINCT vid FROM @subscription_event WHERE vid IN ?list AND received_at <= ? /* subscribers */',
				values: [some, asOfMs],
			},
		];
		for (const { vid } of rows) subscribers.add(String(vid));
	}
	return subscribers;
}

function* chunks(names: readonly string[]): Generator<string[]> {
	for (let from = 0; from < names.length; from += maxNames) yield names.slice(from, from + maxNames);
}

/** All stored spending, by day. */
export function* spendingRows(): Steps<{ day: string; channel: string; campaign: string; pence: number }[]> {
	const [rows = []] = yield [
		{
			sql: 'SELECT day, channel, campaign, pence FROM @spend ORDER BY day, channel, campaign /* spending */',
		},
	];
	return rows.map(({ day, channel, campaign, pence }) => ({
		...{ day: String(day), channel: String(channel), campaign: String(campaign), pence: Number(pence) },
	}));
}

/** Stores spending. Replaces what is stored for the same day, channel and campaign. */
export function* saveSpending(
	rows: readonly { day: string; channel: string; campaign: string; pence: number }[],
): Steps<void> {
	const save: Query = {
		sql: 'INSERT INTO @spend (day, channel, campaign, pence) ?rows ON CONFLICT (day, channel, campaign) DO UPDATE SET pence = excluded.pence /* save spending */',
		rows: rows.map(({ day, channel, campaign, pence }) => [day, channel, campaign, pence]),
	};
	yield [save];
}
