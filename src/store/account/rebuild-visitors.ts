import type { Row, Steps } from '../steps.ts';
import { rebuild, takeClaims } from './visitor-log.ts';

/** Every name of a visitor that is anywhere; what is derived may name one that the log does not. */
const namedAnywhere = ['hit', 'visitor', 'visit', 'claim', 'subscription_event'];

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
 * Makes claims, joins, visits and profiles of some visitors anew from the log.
 * @returns how many were not as the log says
 */
export function* rebuildVisitors(vids: readonly string[]): Steps<number> {
	// Which locks them before the log is read, so that no hit is added meanwhile.
	const contested = yield* takeClaims(vids);
	const [logged = [], stored = []] = yield [
		{ sql: 'SELECT DISTINCT sid, vid FROM @hit WHERE vid IN ?list /* rebuild */', values: [vids] },
		{
			sql: 'SELECT sid, vid FROM @visit WHERE vid IN ?list OR sid IN (SELECT sid FROM @hit WHERE vid IN ?list) /* rebuild */',
			values: [vids, vids],
		},
	];
	const visitorOf = new Map(logged.map((row: Row) => [row.sid, row.vid]));
	const wrong = stored.filter(({ sid, vid }) => visitorOf.get(sid as string) !== vid);
	yield [
		{
			sql: 'DELETE FROM @visit WHERE sid IN ?list /* rebuild */',
			values: [wrong.map(({ sid }) => String(sid))],
		},
	];
	const unfounded = wrong.filter(({ sid }) => !visitorOf.has(sid as string)).length;
	return unfounded + (yield* rebuild(vids, contested));
}
