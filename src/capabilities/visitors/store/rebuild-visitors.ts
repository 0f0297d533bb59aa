import { emptyProfile } from '../../../core/domain/profile.ts';
import type { SharedKeys } from '../../../core/domain/shared-key.ts';
import {
	assignEvents,
	type ContestedEvent,
	checkAllLinks,
	contestedAmong,
	linksOfRow,
	lockContested,
	lockEvents,
	saveLinks,
} from '../../../core/store/account/owners/identity-links.ts';
import { refold, waitToBeFolded, withShortLogs } from '../../../core/store/account/profiles/refold.ts';
import { addMissingVisits, lockVisitors } from '../../../core/store/account/profiles/stored-profiles.ts';
import { addTasks } from '../../../core/store/account/tasks.ts';
import {
	ask,
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
import type { HitPlace } from './erasing.ts';

/** The maximum number of log entries that a transaction reads. */
const maxReplayed = 1500;
/** Rows of a page when repairing piece by piece. */
const pageRows = 200;

/** Tables with names of visitors. Derived rows may name a visitor who has no log. */
const namedAnywhere = ['hit', 'visitor', 'claim', 'subscription_event'];

/** The next visitors in the order of their `vid`. */
export function* visitorsAfter(vid: string, limit: number): Reading<string[]> {
	const rows = yield* rowsOf(
		namedAnywhere.map(
			(table) =>
				select`DISTINCT vid FROM @${raw(table)} WHERE vid > ${vid} ORDER BY vid LIMIT ${raw(limit)} /* visitors after */`,
		),
	);
	return unique(rows.map((row) => String(row.vid)))
		.sort()
		.slice(0, limit);
}

/**
 * Repairs a page of visits, in the order of their ids, that have no hit or belong to another visitor than their hits.
 * @returns how many, and the last id of the page; undefined at the end
 */
export function* repairVisits(afterId: number): Steps<{ changed: number; lastId: number } | undefined> {
	const page = raw(`ORDER BY id LIMIT ${pageRows} /* repair visits */`);
	const named = yield* select`vid FROM @visit WHERE id > ${afterId} ${page}`;
	const { visits } = yield* ask({
		settle: { settle: unique(named.map(({ vid }) => String(vid))) },
		visits: select`id, sid, vid, (SELECT vid FROM @hit AS hit WHERE hit.sid = visit.sid ORDER BY at LIMIT 1) AS owner FROM @visit AS visit WHERE id > ${afterId} ${page}`,
	});
	const last = visits.at(-1);
	if (!last) return undefined;
	const wrong = visits.filter(({ vid, owner }) => vid !== owner);
	if (wrong.length > 0) {
		yield [lockVisitors(unique(wrong.flatMap(({ vid, owner }) => [String(vid), owner as string | null])))];
		yield wrong.map(({ sid, owner }) =>
			owner === null
				? sql`DELETE FROM @visit WHERE sid = ${String(sid)} AND NOT EXISTS (SELECT 1 FROM @hit AS hit WHERE hit.sid = visit.sid) /* repair visits */`
				: sql`UPDATE @visit SET vid = ${owner as string} WHERE sid = ${String(sid)} /* repair visits */`,
		);
	}
	return { changed: wrong.length, lastId: Number(last.id) };
}

/**
 * Rebuilds links, joins, visits and profiles from the log, of as many visitors as one transaction can handle.
 * @returns how many profiles and joins differed from the log, and the visitors left
 */
export function* rebuildVisitors(vids: readonly string[]): Steps<{ changed: number; left: string[] }> {
	const short = yield* withShortLogs(vids, maxReplayed);
	const left = vids.filter((vid) => !short.includes(vid));
	if (short.length === 0) return { changed: 0, left };
	const { events, shared } = yield* takeLinks(short);
	const hits = yield* select`vid, sid, at, body FROM @hit WHERE vid IN ${short} /* rebuild */`;
	yield [saveLinks(hits.flatMap(linksOfRow), shared)];
	const moved = yield* assignEvents(events);
	const changed = yield* refold([...new Set([...short, ...moved])], [], 2 * maxReplayed);
	return { changed: moved.size + changed, left };
}

/**
 * Deletes all links of visitors, and locks them and everybody whose subscription events this may change. The locks of
 * all keys come first, so that until the transaction ends nobody else makes a link or stores an event.
 * @returns the events whose owners may change, and the keys that too many share
 */
function* takeLinks(
	vids: readonly string[],
): Steps<{ events: readonly ContestedEvent[]; shared: SharedKeys }> {
	const { taken, shown } = yield* ask({
		lock: { lock: 'exclusive', keys: 'all' },
		taken: sql`DELETE FROM @claim WHERE vid IN ${vids} AND kept IS NULL RETURNING key /* take links */`,
		// In a damaged database, some hits may have no link.
		shown: select`vid, at, body FROM @hit WHERE vid IN ${vids} AND (body LIKE '%"cid":"%' OR body LIKE '%"tid":"%') /* take links */`,
	});
	const keys = [...taken, ...shown.flatMap(linksOfRow)].map(({ key }) => String(key));
	const { events, popular, shared } = yield* lockContested(unique(keys), { changing: vids });
	yield* addTasks(popular);
	const found = yield* select`tid FROM @subscription_event WHERE vid IN ${vids} /* take links */`;
	const own = yield* lockEvents(found.map(({ tid }) => String(tid)));
	const rows = [...events, ...own] as readonly Row[];
	const over = yield* contestedAmong([...new Map(rows.map((row) => [row.tid, row])).values()]);
	yield [lockVisitors(unique([...vids, ...over.vids]))];
	return { events: over.events, shared };
}

/**
 * Queues a visitor with a long log for a rebuild in the background, links included. The caller handles its log and
 * events in pages first.
 */
export function* waitToBeRebuilt(vid: string, nowMs: number): Steps<void> {
	yield [
		sql`INSERT INTO @visitor (vid, profile) ${values([[vid, JSON.stringify(emptyProfile(nowMs))]])} ON CONFLICT (vid) DO NOTHING /* rebuild */`,
		lockVisitors([vid]),
		checkAllLinks(vid),
		...waitToBeFolded([vid], []),
	];
}

/**
 * Marks a page of a visitor's links as unverified, so that the fold finds their hits or deletes them. @returns the last
 * key
 */
export function* unverifyLinks(vid: string, after: string): Steps<string | undefined> {
	const links =
		yield* select`key FROM @claim WHERE vid = ${vid} AND key > ${after} ORDER BY key LIMIT ${raw(pageRows)} /* rebuild */`;
	const keys = links.map(({ key }) => String(key));
	yield [
		lockVisitors([vid]),
		sql`UPDATE @claim SET unfounded = 1 WHERE vid = ${vid} AND key IN ${keys} AND kept IS NULL /* rebuild */`,
	];
	return keys.at(-1);
}

/**
 * Ensures that a page of a visitor's visits exists, and queues it for a rebuild. @returns the position of the last hit
 */
export function* rebuildVisits(vid: string, { atMs, id }: HitPlace): Steps<HitPlace | undefined> {
	const { hits } = yield* ask({
		settle: { settle: [vid] },
		hits: select`id, sid, at FROM @hit WHERE vid = ${vid} AND (at, id) > (${atMs}, ${id}) ORDER BY at, id LIMIT ${raw(pageRows)} /* rebuild */`,
	});
	const firsts = new Map(hits.toReversed().map((hit) => [String(hit.sid), Number(hit.at)]));
	yield [lockVisitors([vid])];
	yield [addMissingVisits([...firsts].map(([sid, firstMs]) => ({ sid, vid, firstMs })))];
	yield waitToBeFolded([vid], [...firsts.keys()]);
	const last = hits.at(-1);
	return last && { atMs: Number(last.at), id: Number(last.id) };
}

/** Assigns a page of a visitor's events to their owners. @returns the id of the last; undefined at the end */
export function* reassignEvents(vid: string, afterId: number): Steps<number | undefined> {
	const rows =
		yield* select`id, tid FROM @subscription_event WHERE vid = ${vid} AND id > ${afterId} ORDER BY id LIMIT 50 /* rebuild */`;
	const { events, vids } = yield* lockContested(rows.map(({ tid }) => `t:${tid}`));
	yield [lockVisitors(vids)];
	yield* refold([...(yield* assignEvents(events))]);
	const last = rows.at(-1);
	return last && Number(last.id);
}
