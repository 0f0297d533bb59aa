import type { Query, Steps } from '../steps.ts';
import { assignEvents, type IdentityLink, lockContested, saveLinks } from './identity-links.ts';
import { addTasks } from './tasks.ts';
import { linksOfRow, lockVisitors, refold, unique, withShortLogs } from './visitor-log.ts';

/** Hits that one transaction deletes. */
const maxPruned = 100;
/** The most log entries that one transaction replays. */
const maxReplayed = 1000;

/**
 * Deletes a page of the hits from before a moment and rebuilds the profiles that they counted in.
 * @returns how many hits were deleted; 0 at the end
 */
export function* prune(beforeMs: number): Steps<number> {
	const [, oldest = []] = yield [
		{ settle: { beforeMs, max: maxPruned } },
		{
			sql: `SELECT id, vid, at, body FROM @hit WHERE at < ? ORDER BY at, id LIMIT ${maxPruned} /* prune */`,
			values: [beforeMs],
		},
	];
	const last = oldest.at(-1);
	if (!last) return 0;
	const vids = unique(oldest.map(({ vid }) => String(vid)));
	const links = oldest.flatMap(linksOfRow);
	const contested = yield* lockContested(unique(links.map(({ key }) => key)));
	yield [lockVisitors(unique([...vids, ...contested.vids]))];
	const [deleted = []] = yield [
		{
			sql: 'DELETE FROM @hit WHERE vid IN ?list AND (at, id) <= (?, ?) RETURNING sid /* prune */',
			values: [vids, Number(last.at), Number(last.id)],
		},
	];
	const sids = unique(deleted.map(({ sid }) => String(sid)));
	yield* moveLinks(yield* withShortLogs(vids, maxReplayed), links, beforeMs);
	yield [
		addTasks(contested.popular),
		{
			sql: 'DELETE FROM @visit WHERE sid IN ?list AND NOT EXISTS (SELECT 1 FROM @hit AS hit WHERE hit.sid = visit.sid) /* prune */',
			values: [sids],
		},
	];
	const moved = yield* assignEvents(contested.events);
	yield* refold([...moved.union(new Set(vids))], sids, maxReplayed);
	return deleted.length;
}

/** Moves links to the next hits that show their keys: at once if the logs are short, else in the background. */
function* moveLinks(short: readonly string[], links: readonly IdentityLink[], beforeMs: number): Steps<void> {
	yield [withoutHit(links, beforeMs)];
	const [, shown = []] = yield [
		{ sql: 'DELETE FROM @claim WHERE vid IN ?list AND unfounded IS NOT NULL /* prune */', values: [short] },
		{
			sql: `SELECT vid, at, body FROM @hit WHERE vid IN ?list AND (body LIKE '%"cid":"%' OR body LIKE '%"tid":"%') /* prune */`,
			values: [short],
		},
	];
	yield [saveLinks(shown.flatMap(linksOfRow))];
}

function withoutHit(links: readonly IdentityLink[], beforeMs: number): Query {
	const pairs = new Map(links.map(({ vid, key }) => [`${vid} ${key}`, [vid, key]]));
	return {
		sql: `UPDATE @claim SET unfounded = 1 FROM (?rows) AS shown WHERE vid = shown.column1 AND key = shown.column2 AND at < ${beforeMs} /* prune */`,
		rows: [...pairs.values()],
	};
}
