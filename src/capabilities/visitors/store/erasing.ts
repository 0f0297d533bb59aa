import { cidKey, tidKey } from '../../../core/domain/ownership.ts';
import { forgetDays } from '../../../core/store/account/arriving/forget-days.ts';
import { assignEvents, lockContested } from '../../../core/store/account/owners/identity-links.ts';
import {
	type ErasedMark,
	erasedAt,
	saveErased,
} from '../../../core/store/account/profiles/derived-visitors.ts';
import { refold } from '../../../core/store/account/profiles/refold.ts';
import { lockVisitors } from '../../../core/store/account/profiles/stored-profiles.ts';
import { addTasks } from '../../../core/store/account/tasks.ts';
import {
	type Askable,
	ask,
	type Query,
	type Reading,
	type Row,
	raw,
	rowsOf,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';
import { unique } from '../../../core/store/unique.ts';
import { forgetVisitor } from '../../webhooks/store/evaluation.ts';
import { deleteMessagesAbout, underWayUntil } from '../../webhooks/store/outbox.ts';

/** Hits and links, and half as many events, that one transaction erases. */
const maxErased = 100;
/** Rows of a page that is read without locks. */
const pageRows = 500;

export interface ErasedCounts {
	readonly hits: number;
	readonly visits: number;
	/** Subscription events that stay stored, without visitor and customer. */
	readonly events: number;
	/** `tid`s and `cid`s that the visitor's hits have shown. */
	readonly links: number;
}

/** The name of the task of erasing a visitor, see `holdersOf`. */
const taskOf = (vid: string) => `e:${vid}`;

/** A position among a visitor's hits. */
export interface HitPlace {
	readonly atMs: number;
	readonly id: number;
}

/** A page of a visitor's visits, by the hits after a position. Their casks become void when the visitor is erased. */
export function* visitsAfter(
	vid: string,
	{ atMs, id }: HitPlace,
): Steps<{ sids: string[]; last: HitPlace | undefined }> {
	const { rows } = yield* ask({
		settle: { settle: [vid] },
		rows: select`id, sid, at FROM @hit WHERE vid = ${vid} AND (at, id) > (${atMs}, ${id}) ORDER BY at, id LIMIT ${raw(pageRows)} /* visits */`,
	});
	const last = rows.length === pageRows ? rows.at(-1) : undefined;
	return {
		sids: unique(rows.map(({ sid }) => String(sid))),
		last: last && { atMs: Number(last.at), id: Number(last.id) },
	};
}

/** The time of the visitor's last hit; 0 if there is none. */
export function* lastHitOf(vid: string): Reading<number> {
	const [row] = yield* select`at FROM @logged_hit WHERE vid = ${vid} ORDER BY at DESC LIMIT 1 /* last hit */`;
	return Number(row?.at ?? 0);
}

/** What the erasure of a visitor would erase. */
export function* erasableOf(vid: string): Reading<ErasedCounts> {
	const [row] = yield* select`(SELECT count(*) FROM @logged_hit WHERE vid = one.vid) AS hits,
				(SELECT count(*) FROM @visit WHERE sid IN (SELECT sid FROM @logged_hit WHERE vid = one.vid)) AS visits,
				(SELECT count(*) FROM @subscription_event WHERE vid = one.vid) AS events,
				(SELECT count(*) FROM @claim WHERE vid = one.vid AND key <> 'r:') AS links
				FROM (SELECT CAST(${vid} AS TEXT) AS vid) AS one /* erasable */`;
	const count = (name: keyof ErasedCounts) => Number(row?.[name] ?? 0);
	return { hits: count('hits'), visits: count('visits'), events: count('events'), links: count('links') };
}

/** How many subscription events have a customer id and belong to no visitor who has shown it. */
export function* otherEventsOf(cid: string): Reading<number> {
	const [row] =
		yield* select`count(*) AS events FROM @subscription_event AS event WHERE cid = ${cid} AND NOT EXISTS (SELECT 1 FROM @claim AS claim WHERE claim.vid = event.vid AND claim.key = ${cidKey(cid)}) /* erasable */`;
	return Number(row?.events ?? 0);
}

/**
 * How many of a visitor's subscription events are of one of the customers that it has shown.
 * @param keys what the customer's hits have shown
 */
export function* eventsOfPart(vid: string, cid: string, keys: readonly string[]): Reading<number> {
	const rows = yield* select`tid, cid FROM @subscription_event WHERE vid = ${vid} /* erasable */`;
	const shown = new Set(keys);
	return rows.filter((row) => (row.cid === null ? shown.has(tidKey(String(row.tid))) : row.cid === cid))
		.length;
}

/** A page of the visitors who have shown a customer id until a moment, in the order of their `vid`. */
export function* visitorsOfCustomer(cid: string, after: string, untilMs: number): Reading<string[]> {
	const rows =
		yield* select`DISTINCT vid FROM @claim WHERE key = ${cidKey(cid)} AND at <= ${untilMs} AND vid > ${after} ORDER BY vid LIMIT ${raw(pageRows)} /* visitors of customer */`;
	return rows.map(({ vid }) => String(vid));
}

/**
 * Makes a visitor unknown, at once and for good: it gains no hit and no event, and no read finds it. Its stored data is then
 * erased in pieces, see `erasePiece`.
 * @param nowMs shows other processes that the erasure is in progress
 * @param erased what is kept: the visitor's mark, when it is erased, and the `vid` that its seed leads to from now on
 * @param isAgain whether it was erased then already, in a database that a backup has replaced
 * @returns until when a message about the visitor may be under way, see `messagesUnderWay`; and the end of what is erased: the
 * customer of an event that has arrived later stays
 */
export function* beginErasing(
	vid: string,
	nowMs: number,
	{ isAgain = false, ...erased }: ErasedMark & { readonly isAgain?: boolean },
): Steps<{ untilMs: number; atMs: number }> {
	// Nobody adds a link or an event in between.
	const {
		tasks: [task],
		newest: [newest],
	} = yield* ask({
		lock: { lock: 'exclusive', keys: 'all' },
		tasks: findTask(vid),
		newest: select`max(${arrivedSql}) AS at FROM @subscription_event WHERE vid = ${vid} /* erase */`,
	});
	// One that was begun before, and killed, is still the same.
	const begun = task && (yield* erasedAt([erased.mark])).get(erased.mark);
	const atMs = begun ?? (isAgain ? erased.atMs : Math.max(erased.atMs, Number(newest?.at ?? 0)));
	if (!task) yield* addTasks([taskOf(vid)]);
	yield [
		lockVisitors([vid]),
		// Before the visitor's row, which lists them, is deleted.
		{ settle: [vid] },
		sql`DELETE FROM @visitor WHERE vid = ${vid} /* erase */`,
		...saveErased(vid, { ...erased, atMs }),
		touch(vid, nowMs),
	];
	// Only messages are given back.
	const untilMs = underWayUntil(yield* rowsOf([...forgetVisitor(vid), deleteMessagesAbout(vid)]));
	return { untilMs, atMs };
}

/** When an event has arrived; `received_at` is when it happened, where it told that. */
const arrivedSql = raw('coalesce(arrived_at, received_at)');

function findTask(vid: string) {
	return select`id FROM @task WHERE name = ${taskOf(vid)} LIMIT 1 /* erase */`;
}

/** When a visitor's erasure was asked for, if it has begun and not ended. */
export function* erasureBegun(vid: string, mark: string): Reading<number | undefined> {
	const [task] = yield* findTask(vid);
	return task && (yield* erasedAt([mark])).get(mark);
}

function touch(vid: string, nowMs: number) {
	return sql`UPDATE @task SET position = ${nowMs} WHERE name = ${taskOf(vid)} /* erase */`;
}

/** A visitor whose erasure has made no progress since a moment. */
export function* findAbandonedErasure(sinceMs: number): Reading<string | undefined> {
	const [task] =
		yield* select`name FROM @task WHERE name >= 'e:' AND name < 'f' AND position < ${sinceMs} ORDER BY name LIMIT 1 /* abandoned */`;
	return task && String(task.name).slice(2);
}

/**
 * Erases a piece of a visitor's data: hits, visits and links. Subscription events lose their visitor and customer.
 * @param atMs see `beginErasing`
 * @returns undefined if nothing was left
 */
export function* erasePiece(vid: string, nowMs: number, atMs: number): Steps<ErasedCounts | undefined> {
	const { events, links, hits } = yield* ask({ settle: { settle: [vid] }, ...dataOf(vid) });
	if (events.length + links.length + hits.length === 0)
		return (yield* endErasing(vid)) ? undefined : { hits: 0, visits: 0, events: 0, links: 0 };
	const shown = links.map(({ key }) => String(key));
	// The visitor has a row again if an import has brought it back. Others may be working on it.
	// Sales that the visitor showed first, but as another customer could not have, are the next one's who has shown them.
	const freed = yield* freeEvents(events, (event) => event.vid === vid, {
		atMs,
		others: [vid],
		keys: shown.filter((key) => key.startsWith('t:')),
		deleted: shown,
	});
	yield [touch(vid, nowMs), sql`DELETE FROM @claim WHERE vid = ${vid} AND key IN ${shown} /* erase */`];
	const counted = shown.filter((key) => key !== 'r:');
	return { ...(yield* eraseHits(vid, hits)), events: freed, links: counted.length };
}

function dataOf(vid: string) {
	return {
		events: select`tid FROM @subscription_event WHERE vid = ${vid} ORDER BY received_at LIMIT ${raw(maxErased / 2)} /* erase */`,
		links: select`key FROM @claim WHERE vid = ${vid} ORDER BY key LIMIT ${raw(maxErased)} /* erase */`,
		hits: select`id, at FROM @hit WHERE vid = ${vid} ORDER BY at LIMIT ${raw(maxErased)} /* erase */`,
	};
}

/** @returns false if an import has brought the visitor back meanwhile; what it added is to be erased, too */
function* endErasing(vid: string): Steps<boolean> {
	yield [{ lock: 'exclusive', keys: 'all' }, lockVisitors([vid])];
	const left = yield* ask(dataOf(vid));
	if (Object.values(left).some((rows) => rows.length > 0)) return false;
	const touches = yield* sql`DELETE FROM @touch WHERE vid = ${vid} RETURNING at /* erase */`;
	yield [
		forgetDays(touches.map(({ at }) => Number(at))),
		sql`DELETE FROM @visitor WHERE vid = ${vid} /* erase */`,
		deleteMessagesAbout(vid),
		...forgetVisitor(vid),
		sql`DELETE FROM @task WHERE name = ${taskOf(vid)} /* erase */`,
	];
	return true;
}

/** Deletes these hits, and no others that were stored meanwhile. @param hits rows with `id` */
export function deleteHits(hits: readonly Row[]): Askable<Query> {
	const rows = hits.map(({ id }) => [Number(id)]);
	return sql`DELETE FROM @hit WHERE id IN (SELECT column1 FROM (${values(rows)}) AS gone) RETURNING sid, at /* delete hits */`;
}

/** @param hits the first of the visitor's */
function* eraseHits(vid: string, hits: readonly Row[]): Steps<{ hits: number; visits: number }> {
	const last = hits.at(-1);
	if (!last) return { hits: 0, visits: 0 };
	const { deleted, touches } = yield* ask({
		deleted: deleteHits(hits),
		touches: sql`DELETE FROM @touch WHERE vid = ${vid} AND at <= ${Number(last.at)} RETURNING at /* erase */`,
	});
	yield [forgetDays([...deleted, ...touches].map(({ at }) => Number(at)))];
	const visits =
		yield* sql`DELETE FROM @visit WHERE sid IN ${unique(deleted.map(({ sid }) => String(sid)))} RETURNING sid /* erase */`;
	return { hits: deleted.length, visits: visits.length };
}

/** Removes a customer id from a page of its subscription events that arrived until a moment. @returns how many; 0 at the end */
export function* freeCustomer(cid: string, atMs: number): Steps<number> {
	const events =
		yield* select`tid FROM @subscription_event WHERE cid = ${cid} AND ${arrivedSql} <= ${atMs} LIMIT ${raw(maxErased / 2)} /* erase */`;
	return yield* freeEvents(events, (event) => event.cid === cid, { atMs });
}

/**
 * Removes the customer ids of events and assigns the events to the owners that remain.
 * @param atMs events that have arrived later keep theirs
 * @param others visitors to lock, too
 * @param keys of other events that may have another owner now
 * @param deleted the keys of links that are deleted with this
 */
function* freeEvents(
	rows: readonly Row[],
	shouldFree: (event: { vid: string | null; cid: string | null }) => boolean,
	{
		atMs,
		others = [],
		keys = [],
		deleted = [],
	}: {
		readonly atMs: number;
		readonly others?: readonly string[];
		readonly keys?: readonly string[];
		readonly deleted?: readonly string[];
	},
): Steps<number> {
	const { events, vids } = yield* lockContested(unique([...rows.map(({ tid }) => `t:${tid}`), ...keys]), {
		erasing: true,
		deleted,
	});
	const late =
		yield* select`tid FROM @subscription_event WHERE tid IN ${events.map(({ tid }) => tid)} AND ${arrivedSql} > ${atMs} /* erase */`;
	const keeping = new Set(late.map(({ tid }) => tid));
	const isFree = (event: (typeof events)[number]) => shouldFree(event) && !keeping.has(event.tid);
	const free = events.filter(isFree);
	yield [
		lockVisitors(unique([...vids, ...others])),
		sql`UPDATE @subscription_event SET cid = NULL WHERE tid IN ${free.map(({ tid }) => tid)} /* erase */`,
	];
	const moved = yield* assignEvents(events.map((event) => (isFree(event) ? { ...event, cid: null } : event)));
	yield* refold([...moved]);
	return free.length;
}
