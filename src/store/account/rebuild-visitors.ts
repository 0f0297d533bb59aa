import { emptyProfile } from '../../domain/profile.ts';
import type { Query, Row, Steps } from '../steps.ts';
import type { HitPlace } from './erasing.ts';
import {
	assignEvents,
	type ContestedEvent,
	contestOver,
	lockContested,
	lockEvents,
	saveLinks,
} from './identity-links.ts';
import { addTasks } from './tasks.ts';
import { linksOfRow, lockVisitors, refold, unique, waitToBeFolded, withShortLogs } from './visitor-log.ts';

/** Entries of logs that a transaction reads, at most. */
const maxReplayed = 1500;
/** Rows of a page of what is repaired piece by piece. */
const pageRows = 200;

/** Every name of a visitor that is anywhere; what is derived may name one that the log does not. */
const namedAnywhere = ['hit', 'visitor', 'claim', 'subscription_event'];

/** How many visitors there are to rebuild; as good as a count for showing progress. */
export function* countVisitors(): Steps<number> {
	const [rows = []] = yield [{ sql: 'SELECT count(*) AS number FROM @visitor /* count visitors */' }];
	return Number(rows[0]?.number ?? 0);
}

/** The next visitors in the order of their `vid`. */
export function* visitorsAfter(vid: string, limit: number): Steps<string[]> {
	const pages = yield namedAnywhere.map((table) => ({
		sql: `SELECT DISTINCT vid FROM @${table} WHERE vid > ? ORDER BY vid LIMIT ${limit} /* visitors after */`,
		values: [vid],
	}));
	const vids = new Set(pages.flatMap((rows) => rows.map((row) => String(row.vid))));
	return [...vids].sort().slice(0, limit);
}

/**
 * Repairs a page of visits, in the order of their ids, that belong to no hit or to another visitor than their hits.
 * @returns how many, and the last of the page; undefined where there was none
 */
export function* repairVisits(afterId: number): Steps<{ changed: number; lastId: number } | undefined> {
	const page = `FROM @visit AS visit WHERE id > ? ORDER BY id LIMIT ${pageRows} /* repair visits */`;
	const [named = []] = yield [{ sql: `SELECT vid ${page}`, values: [afterId] }];
	const [, visits = []] = yield [
		{ settle: unique(named.map(({ vid }) => String(vid))) },
		{
			sql: `SELECT id, sid, vid, (SELECT vid FROM @hit AS hit WHERE hit.sid = visit.sid ORDER BY at LIMIT 1) AS owner ${page}`,
			values: [afterId],
		},
	];
	const last = visits.at(-1);
	if (!last) return undefined;
	const wrong = visits.filter(({ vid, owner }) => vid !== owner);
	if (wrong.length > 0) {
		yield [lockVisitors(unique(wrong.flatMap(({ vid, owner }) => [String(vid), owner as string | null])))];
		yield wrong.map(({ sid, owner }) =>
			owner === null
				? {
						sql: 'DELETE FROM @visit WHERE sid = ? AND NOT EXISTS (SELECT 1 FROM @hit AS hit WHERE hit.sid = visit.sid) /* repair visits */',
						values: [String(sid)],
					}
				: {
						sql: 'UPDATE @visit SET vid = ? WHERE sid = ? /* repair visits */',
						values: [owner as string, String(sid)],
					},
		);
	}
	return { changed: wrong.length, lastId: Number(last.id) };
}

/**
 * Makes links, joins, visits and profiles of visitors anew from the log, of so many as one transaction can deal with.
 * @returns how many were not as the log says, and who is left
 */
export function* rebuildVisitors(vids: readonly string[]): Steps<{ changed: number; left: string[] }> {
	const short = yield* withShortLogs(vids, maxReplayed);
	const left = vids.filter((vid) => !short.includes(vid));
	if (short.length === 0) return { changed: 0, left };
	const contested = yield* takeLinks(short);
	const [hits = []] = yield [
		{ sql: 'SELECT vid, sid, at, body FROM @hit WHERE vid IN ?list /* rebuild */', values: [short] },
	];
	yield [saveLinks(hits.flatMap(linksOfRow))];
	const moved = yield* assignEvents(contested);
	const { changed } = yield* refold([...new Set([...short, ...moved])], [], 2 * maxReplayed);
	return { changed: moved.size + changed, left };
}

/**
 * Takes all links of visitors, and locks them and all whose subscription events this may change. The locks of all keys
 * come first: until the end of the transaction no link is made and no event is stored by anybody else.
 * @returns the events that are contested
 */
function* takeLinks(vids: readonly string[]): Steps<readonly ContestedEvent[]> {
	const [, taken = [], shown = []] = yield [
		{ lock: 'exclusive', keys: 'all' },
		{ sql: 'DELETE FROM @claim WHERE vid IN ?list RETURNING key /* take links */', values: [vids] },
		// Those that should have made links but, in a database that needs to be repaired, have not.
		{
			sql: `SELECT vid, at, body FROM @hit WHERE vid IN ?list AND (body LIKE '%"cid":"%' OR body LIKE '%"tid":"%') /* take links */`,
			values: [vids],
		},
	];
	const keys = [...taken, ...shown.flatMap(linksOfRow)].map(({ key }) => String(key));
	const { events, popular } = yield* lockContested(unique(keys));
	const [found = []] = yield [
		{
			sql: 'SELECT tid FROM @subscription_event WHERE vid IN ?list /* take links */',
			values: [vids],
		},
		addTasks(popular),
	];
	const [own = []] = yield [lockEvents(found.map(({ tid }) => String(tid)))];
	const rows = [...events, ...own] as readonly Row[];
	const over = yield* contestOver([...new Map(rows.map((row) => [row.tid, row])).values()]);
	yield [lockVisitors(unique([...vids, ...over.vids]))];
	return over.events;
}

/** Has a visitor with a long log made anew in the background, links too; the pages of its log and events come first. */
export function* waitToBeRebuilt(vid: string, nowMs: number): Steps<void> {
	yield [
		{
			sql: 'INSERT INTO @visitor (vid, profile) ?rows ON CONFLICT (vid) DO NOTHING /* rebuild */',
			rows: [[vid, JSON.stringify(emptyProfile(nowMs))]],
		},
		lockVisitors([vid]),
		// A key that no hit shows: with it, the fold looks at the links of all hits.
		{
			sql: 'INSERT INTO @claim (key, at, vid, unfounded) ?rows ON CONFLICT (vid, key) DO UPDATE SET unfounded = 1 /* rebuild */',
			rows: [['r:', 0, vid, 1]],
		},
		...waitToBeFolded([vid], []),
	];
}

/** Doubts a page of a visitor's links, so that the fold finds their hits or takes them away. @returns the last key */
export function* unverifyLinks(vid: string, after: string): Steps<string | undefined> {
	const [links = []] = yield [
		{
			sql: `SELECT key FROM @claim WHERE vid = ? AND key > ? ORDER BY key LIMIT ${pageRows} /* rebuild */`,
			values: [vid, after],
		},
	];
	const keys = links.map(({ key }) => String(key));
	yield [
		lockVisitors([vid]),
		{
			sql: 'UPDATE @claim SET unfounded = 1 WHERE vid = ? AND key IN ?list /* rebuild */',
			values: [vid, keys],
		},
	];
	return keys.at(-1);
}

/** Makes sure that a page of a visitor's visits is there, and has it made anew. @returns the place of the last hit */
export function* rebuildVisits(vid: string, { atMs, id }: HitPlace): Steps<HitPlace | undefined> {
	const [, hits = []] = yield [
		{ settle: [vid] },
		{
			sql: `SELECT id, sid, at FROM @hit WHERE vid = ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT ${pageRows} /* rebuild */`,
			values: [vid, atMs, id],
		},
	];
	const firsts = new Map(hits.toReversed().map((hit) => [String(hit.sid), Number(hit.at)]));
	yield [lockVisitors([vid])];
	yield [
		{
			sql: 'INSERT INTO @visit (sid, vid, profile) ?rows ON CONFLICT (sid) DO NOTHING /* rebuild */',
			rows: [...firsts].map(([sid, firstMs]) => [sid, vid, JSON.stringify(emptyProfile(firstMs))]),
		},
	];
	yield waitToBeFolded([vid], [...firsts.keys()]);
	const last = hits.at(-1);
	return last && { atMs: Number(last.at), id: Number(last.id) };
}

/** Gives a page of a visitor's events to whom they belong. @returns the id of the last; undefined where there is none */
export function* reassignEvents(vid: string, afterId: number): Steps<number | undefined> {
	const page: Query = {
		sql: 'SELECT id, tid FROM @subscription_event WHERE vid = ? AND id > ? ORDER BY id LIMIT 50 /* rebuild */',
		values: [vid, afterId],
	};
	const [rows = []] = yield [page];
	const { events, vids } = yield* lockContested(rows.map(({ tid }) => `t:${tid}`));
	yield [lockVisitors(vids)];
	yield* refold([...(yield* assignEvents(events))]);
	const last = rows.at(-1);
	return last && Number(last.id);
}
