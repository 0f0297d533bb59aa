import type { Query, Steps } from '../steps.ts';
import { addTasks, assignEvents, type Claim, contest, saveClaims } from './identity-links.ts';
import { claimsOfRow, lockVisitors, refold, unique, withShortLogs } from './visitor-log.ts';

/** Hits that go in one transaction. */
const mostPruned = 100;
/** Entries of logs that are read for it, at most. */
const mostReplayed = 1000;

/**
 * Deletes some of the hits from before a moment, and makes what follows from them anew: what is deleted stops counting.
 * @returns how many hits went; 0 when there are no more
 */
export function* prune(beforeMs: number): Steps<number> {
	const [oldest = []] = yield [
		{
			sql: `SELECT id, vid, at, body FROM @hit WHERE at < ? ORDER BY at, id LIMIT ${mostPruned} /* prune */`,
			values: [beforeMs],
		},
	];
	const last = oldest.at(-1);
	if (!last) return 0;
	const vids = unique(oldest.map(({ vid }) => String(vid)));
	const claims = oldest.flatMap(claimsOfRow);
	const contested = yield* contest(unique(claims.map(({ key }) => key)));
	yield [lockVisitors(unique([...vids, ...contested.vids]))];
	const [deleted = []] = yield [
		{
			sql: 'DELETE FROM @hit WHERE vid IN ?list AND (at, id) <= (?, ?) RETURNING sid /* prune */',
			values: [vids, Number(last.at), Number(last.id)],
		},
	];
	const sids = unique(deleted.map(({ sid }) => String(sid)));
	yield* moveClaims(yield* withShortLogs(vids, mostReplayed), claims, beforeMs);
	yield [
		addTasks(contested.popular),
		{
			sql: 'DELETE FROM @visit WHERE sid IN ?list AND NOT EXISTS (SELECT 1 FROM @hit AS hit WHERE hit.sid = visit.sid) /* prune */',
			values: [sids],
		},
	];
	const moved = yield* assignEvents(contested.events);
	yield* refold([...moved.union(new Set(vids))], sids, mostReplayed);
	return deleted.length;
}

/** Claims become those of the next hits that have shown the keys: at once where logs are short, else in the background. */
function* moveClaims(short: readonly string[], claims: readonly Claim[], beforeMs: number): Steps<void> {
	yield [withoutHit(claims, beforeMs)];
	const [, shown = []] = yield [
		{ sql: 'DELETE FROM @claim WHERE vid IN ?list AND unfounded IS NOT NULL /* prune */', values: [short] },
		{
			sql: `SELECT vid, at, body FROM @hit WHERE vid IN ?list AND (body LIKE '%"cid":"%' OR body LIKE '%"tid":"%') /* prune */`,
			values: [short],
		},
	];
	yield [saveClaims(shown.flatMap(claimsOfRow))];
}

function withoutHit(claims: readonly Claim[], beforeMs: number): Query {
	const pairs = new Map(claims.map(({ vid, key }) => [`${vid} ${key}`, [vid, key]]));
	return {
		sql: `UPDATE @claim SET unfounded = 1 FROM (?rows) AS shown WHERE vid = shown.column1 AND key = shown.column2 AND at < ${beforeMs} /* prune */`,
		rows: [...pairs.values()],
	};
}
