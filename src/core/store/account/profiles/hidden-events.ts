import { neverProven } from '../../../domain/ownership.ts';
import { ask, type Query, type Reading, type Row, raw, select, sql, values } from '../../steps.ts';
import { isProvenSql, linksToEventSql } from '../owners/identity-links.ts';

/**
 * Events that an unproven claim has joined to a visitor after they were uploaded are not in the visitor's profile: a browser is never
 * shown what an upload knew before it claimed to be somebody. An event that names its visitor is there if a link of the visitor to its `tid`
 * or `cid` is proven, or not later than the event's arrival. One that follows its subscription is there if that holds for a link to an
 * event of the subscription that names the visitor.
 *
 * What arrives later than everything in a profile is later than all links of the visitor, since the hits that show them are in the profile,
 * too. So only who folds a log has to ask.
 */

/** What a profile leaves out: 0, nothing; 1, only events that name their visitor; 2, events that follow their subscription, too. */
export type HiddenLevel = 0 | 1 | 2;

export function hiddenIn(stored: Row[string] | undefined): HiddenLevel {
	return Number(stored ?? 0) as HiddenLevel;
}

/** In SQL: from when on events are seen by links that have this name in the statement. */
const seenFrom = raw(`min(CASE WHEN ${isProvenSql('own')} THEN ${Number.MIN_SAFE_INTEGER} ELSE own.at END)`);

const ownLinks = raw(linksToEventSql('own', 'event'));
const namingLinks = raw(linksToEventSql('own', 'naming'));

/** Columns of `@subscription_event` that `seenAmong` needs. */
export const seenColumns = raw('vid, tid, subid, named, received_at, arrived_at');

/** Events of visitors, and what of them is left out. */
export interface SeenEvents {
	readonly events: readonly Row[];
	/** By `vid`; visitors of whom everything is there are not in it. */
	readonly hidden: ReadonlyMap<string, HiddenLevel>;
}

const nothingHidden: ReadonlyMap<string, HiddenLevel> = new Map();

/**
 * Leaves out the events that are not in their visitors' profiles.
 * @param all rows with `seenColumns`
 * @param unproven rows of `unprovenAmong`
 */
export function* seenAmong(all: readonly Row[], unproven: readonly Row[]): Reading<SeenEvents> {
	if (unproven.length === 0) return { events: all, hidden: nothingHidden };
	const claiming = new Set(unproven.map(({ vid }) => vid));
	const claimed = all.filter(({ vid }) => claiming.has(vid as string));
	const isNamed = ({ named }: Row) => Number(named) > 0;
	const pairOf = ({ vid, subid }: Row) => `${vid} ${subid}`;
	const following = claimed.filter((row) => !isNamed(row));
	const pairs = new Map(following.map((row) => [pairOf(row), [String(row.vid), String(row.subid)]]));
	const found = yield* ask({
		named: select`tid, (SELECT ${seenFrom} FROM @claim AS own WHERE ${ownLinks}) AS seen_from FROM @subscription_event AS event WHERE tid IN ${claimed.filter(isNamed).map(({ tid }) => String(tid))} /* seen events */`,
		subscriptions: select`vid, subid, (SELECT ${seenFrom} FROM @subscription_event AS naming JOIN @claim AS own ON ${namingLinks} WHERE naming.subid = list.subid AND naming.named > 0 AND naming.vid = list.vid) AS seen_from FROM (SELECT column1 AS vid, column2 AS subid FROM (${values([...pairs.values()])}) AS pairs) AS list /* seen subscriptions */`,
	});
	const fromMs = (row: Row) => Number(row.seen_from ?? neverProven);
	const named = new Map(found.named.map((row) => [row.tid, fromMs(row)]));
	const followed = new Map(found.subscriptions.map((row) => [pairOf(row), fromMs(row)]));
	const hidden = new Map<string, HiddenLevel>();
	const events = all.filter((row) => {
		const vid = String(row.vid);
		if (!claiming.has(vid)) return true;
		const seenFromMs = isNamed(row) ? named.get(row.tid as string) : followed.get(pairOf(row));
		if ((seenFromMs ?? neverProven) <= Number(row.arrived_at ?? row.received_at)) return true;
		hidden.set(vid, isNamed(row) ? (hidden.get(vid) ?? 1) : 2);
		return false;
	});
	return { events, hidden };
}

/** Keeps what profiles leave out. */
export function saveHidden(hidden: readonly (readonly [vid: string, hidden: HiddenLevel])[]): Query {
	const rows = hidden.map(([vid, one]) => [vid, one || null]);
	return sql`UPDATE @visitor SET hidden = CAST(changed.column2 AS integer) FROM (${values(rows)}) AS changed WHERE vid = changed.column1 /* hidden */`;
}
