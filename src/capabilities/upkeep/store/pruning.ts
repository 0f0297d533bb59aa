import { forgetDays } from '../../../core/store/account/arriving/forget-days.ts';
import {
	assignEvents,
	customersChange,
	type IdentityLink,
	linksOfRow,
	lockContested,
	saveLinks,
} from '../../../core/store/account/owners/identity-links.ts';
import { findShared, sharedIn } from '../../../core/store/account/owners/shared-keys.ts';
import { refold, withShortLogs } from '../../../core/store/account/profiles/refold.ts';
import { lockVisitors } from '../../../core/store/account/profiles/stored-profiles.ts';
import { addTasks } from '../../../core/store/account/tasks.ts';
import {
	ask,
	type Query,
	type Row,
	raw,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';
import { unique } from '../../../core/store/unique.ts';
import { deleteHits } from '../../visitors/store/erasing.ts';

/** Hits that one transaction deletes. */
const maxPruned = 100;
/** The most log entries that one transaction replays. */
const maxReplayed = 1000;

/**
 * Deletes a page of the hits from before a moment and rebuilds the profiles that they counted in.
 * @param keepTouches whether the touches of visitors with subscription events stay, and the links that join these events
 * @returns how many hits were deleted; 0 at the end
 */
export function* prune(beforeMs: number, keepTouches = false): Steps<number> {
	const { oldest } = yield* ask({
		settle: { settle: { beforeMs, max: maxPruned } },
		oldest: select`id, vid, at, body FROM @hit WHERE at < ${beforeMs} ORDER BY at LIMIT ${raw(maxPruned)} /* prune */`,
	});
	const last = oldest.at(-1);
	if (!last) return 0;
	const vids = unique(oldest.map(({ vid }) => String(vid)));
	const links = oldest.flatMap(linksOfRow);
	const contested = yield* lockContested(unique(links.map(({ key }) => key)), {
		changing: customersChange(links),
	});
	yield [lockVisitors(unique([...vids, ...contested.vids]))];
	const deleted = yield* deleteHits(oldest);
	const sids = unique(deleted.map(({ sid }) => String(sid)));
	if (keepTouches) yield [keepTouchesOf(vids, Number(last.at)), keepBeginnings(deleted), keepLinks(links)];
	yield* moveLinks(yield* withShortLogs(vids, maxReplayed), links, beforeMs);
	yield [
		forgetDays(deleted.map(({ at }) => Number(at))),
		sql`DELETE FROM @visit WHERE sid IN ${sids} AND NOT EXISTS (SELECT 1 FROM @hit AS hit WHERE hit.sid = visit.sid) /* prune */`,
	];
	yield* addTasks(contested.popular);
	const moved = yield* assignEvents(contested.events);
	yield* refold([...moved.union(new Set(vids))], sids, maxReplayed);
	return deleted.length;
}

type LinkName = Pick<IdentityLink, 'vid' | 'key'>;

/** Moves links to the next hits that show their keys: at once if the logs are short, else in the background. */
function* moveLinks(short: readonly string[], links: readonly LinkName[], beforeMs: number): Steps<void> {
	yield [withoutHit(links, beforeMs)];
	const { shown } = yield* ask({
		deleted: sql`DELETE FROM @claim WHERE vid IN ${short} AND unfounded IS NOT NULL /* prune */`,
		shown: select`vid, at, body FROM @hit WHERE vid IN ${short} AND (body LIKE '%"cid":"%' OR body LIKE '%"tid":"%') /* prune */`,
	});
	const left = shown.flatMap(linksOfRow);
	const shared = sharedIn(yield* findShared(left.map(({ key }) => key)));
	yield [saveLinks(left, shared)];
}

function withoutHit(links: readonly LinkName[], beforeMs: number): Query {
	return sql`UPDATE @claim SET unfounded = 1 FROM (${values(pairsOf(links))}) AS shown WHERE vid = shown.column1 AND key = shown.column2 AND at < ${raw(beforeMs)} AND kept IS NULL /* prune */`;
}

function pairsOf(links: readonly LinkName[]): string[][] {
	return [...new Map(links.map(({ vid, key }) => [`${vid} ${key}`, [vid, key]])).values()];
}

function keepTouchesOf(vids: readonly string[], toMs: number): Query {
	return sql`UPDATE @touch SET kept = 1 WHERE vid IN ${vids} AND at <= ${toMs} AND EXISTS (SELECT 1 FROM @subscription_event AS event WHERE event.vid = touch.vid) /* keep touches */`;
}

/**
 * Keeps when visits began that are cut in two, now or by a later page: what is left of one has not arrived anew.
 * @param deleted rows with `sid` and `at`
 */
function keepBeginnings(deleted: readonly Row[]): Query {
	const began = new Map<string, number>();
	for (const { sid, at } of deleted)
		began.set(String(sid), Math.min(Number(at), began.get(String(sid)) ?? Number(at)));
	return sql`UPDATE @visit SET began = cut.column2 FROM (${values([...began])}) AS cut WHERE sid = cut.column1 AND began IS NULL AND EXISTS (SELECT 1 FROM @subscription_event AS event WHERE event.vid = visit.vid) /* keep beginnings */`;
}

/** Keeps the links by which events are joined; without them, kept touches would lead to nothing. */
function keepLinks(links: readonly LinkName[]): Query {
	const joins = (column: 'tid' | 'cid') =>
		raw(
			`EXISTS (SELECT 1 FROM @subscription_event AS event WHERE event.${column} = substr(claim.key, 3) AND event.vid = claim.vid)`,
		);
	return sql`UPDATE @claim SET kept = 1 FROM (${values(pairsOf(links))}) AS shown WHERE claim.vid = shown.column1 AND key = shown.column2 AND (key LIKE 't:%' AND ${joins('tid')} OR key LIKE 'c:%' AND ${joins('cid')}) /* keep links */`;
}

/**
 * Deletes a page of the touches and links from before a moment that retention was configured to keep.
 * @returns how many; 0 at the end
 */
export function* pruneKept(beforeMs: number): Steps<number> {
	const page = raw(`ORDER BY at LIMIT ${maxPruned} /* prune kept */`);
	const { touches, claims } = yield* ask({
		touches: select`vid, at FROM @touch WHERE kept IS NOT NULL AND at < ${beforeMs} ${page}`,
		claims: select`vid, key FROM @claim WHERE kept IS NOT NULL AND at < ${beforeMs} ${page}`,
	});
	const links = claims.map(({ vid, key }) => ({ vid: String(vid), key: String(key) }));
	const contested = yield* lockContested(unique(links.map(({ key }) => key)), {
		changing: customersChange(links),
	});
	const linked = unique(links.map(({ vid }) => vid));
	yield [lockVisitors(unique([...touches.map(({ vid }) => String(vid)), ...linked, ...contested.vids]))];
	const pruned =
		yield* sql`DELETE FROM @touch WHERE vid IN ${unique(touches.map(({ vid }) => String(vid)))} AND kept IS NOT NULL AND at <= ${Number(touches.at(-1)?.at ?? 0)} RETURNING at /* prune kept */`;
	yield [
		forgetDays(pruned.map(({ at }) => Number(at))),
		sql`UPDATE @claim SET kept = NULL FROM (${values(pairsOf(links))}) AS shown WHERE vid = shown.column1 AND key = shown.column2 /* prune kept */`,
	];
	yield* moveLinks(yield* withShortLogs(linked, maxReplayed), links, beforeMs);
	yield* addTasks(contested.popular);
	const moved = yield* assignEvents(contested.events);
	yield* refold([...moved.union(new Set(linked))], [], maxReplayed);
	return touches.length + links.length;
}
