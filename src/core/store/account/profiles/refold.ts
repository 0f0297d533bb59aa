import { profileOf } from '../../../domain/profile.ts';
import { subscriptionEntry } from '../../../domain/subscription-event.ts';
import { ask, type Query, type Row, raw, type Steps, select, sql } from '../../steps.ts';
import { unprovenAmong } from '../owners/identity-links.ts';
import { addTasks } from '../tasks.ts';
import { type HiddenLevel, hiddenIn, saveHidden, seenAmong, seenColumns } from './hidden-events.ts';
import { loggedHit } from './log-piece.ts';
import { loadFreeVisitors, saveVisitors, saveVisits } from './stored-profiles.ts';
import { beginningsIn, correctTouches, loadTouches, touchesOf } from './touches.ts';

/** The most log entries that a request may replay to rebuild profiles. */
const maxReplayed = 500;

/**
 * Rebuilds profiles from the log: at once if the logs are short and nobody else has locked the visitors, else in the
 * background, see `folding.ts`. The rows of the visitors and visits must exist.
 * @param sids the visits to rebuild
 * @param max the number of log entries that may be replayed
 * @returns how many profiles of visitors and visits differed from the log, among those rebuilt at once
 */
export function* refold(
	vids: readonly string[],
	sids: readonly string[] = [],
	max = maxReplayed,
): Steps<number> {
	if (vids.length === 0) return 0;
	// Lock before reading the log, so that no hit is added in between.
	const { rows, busy } = yield* loadFreeVisitors(vids);
	const free = vids.filter((vid) => !busy.includes(vid));
	const short = yield* withShortLogs(free, max);
	const isShort = new Set(short);
	yield* addTasks(busy.map((vid) => `f:${vid}`));
	yield waitToBeFolded(
		free.filter((vid) => !isShort.has(vid)),
		sids,
	);
	return short.length > 0 ? yield* replay(short, rows) : 0;
}

/** The visitors whose logs together have at most `max` entries. All visitors are settled. */
export function* withShortLogs(vids: readonly string[], max: number): Steps<string[]> {
	const { entries } = yield* ask({
		settled: { settle: vids },
		entries: countEntries([...vids].sort().slice(0, max / 5), max),
	});
	let left = max;
	const short: string[] = [];
	for (const row of entries) {
		if (Number(row.entries) > left) continue;
		left -= Number(row.entries);
		short.push(String(row.vid));
	}
	return short;
}

/** The number of log entries of each visitor. Counting stops at one more than `max`. */
function countEntries(vids: readonly string[], max: number): Query {
	const count = (table: string, at: string) =>
		`(SELECT count(*) FROM (SELECT 1 FROM @${table} WHERE vid = list.key ORDER BY ${at} LIMIT ${max + 1}) AS first)`;
	// The background handles links that lost their hit, in log order. Visitors being erased are not rebuilt.
	const never = `CASE WHEN EXISTS (SELECT 1 FROM @claim AS claim WHERE claim.vid = list.key AND unfounded IS NOT NULL) OR EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || list.key) THEN ${max + 1} ELSE 0 END`;
	return select`key AS vid, ${raw(count('hit', 'at'))} + ${raw(count('subscription_event', 'received_at'))} + ${raw(never)} AS entries FROM ${vids} AS list /* count entries */`;
}

/** The value of `folded_to` before anything is replayed. */
export const nothingFolded = Number.MIN_SAFE_INTEGER;

/** Queues visitors, and the given visits, for the background. */
export function waitToBeFolded(vids: readonly string[], sids: readonly string[]): Query[] {
	const wait = `SET folded_to = ${nothingFolded}, refolded = NULL`;
	return [
		{ sql: `UPDATE @visitor ${wait} WHERE vid IN ?list /* wait */`, values: [vids], wakes: true },
		sql`UPDATE @visit ${raw(wait)} WHERE sid IN ${sids} AND vid IN ${vids} /* wait */`,
	];
}

/**
 * Rebuilds profiles from short logs. Deletes a visitor whose log has no hit left.
 * @param vids locked visitors
 * @param before the loaded rows; others may be among them
 * @returns how many profiles of visitors and visits differed from the log
 */
export function* replay(vids: readonly string[], before: readonly Row[]): Steps<number> {
	const found = yield* ask({
		hits: select`vid, sid, at, body FROM @hit WHERE vid IN ${vids} /* replay */`,
		events: select`evt, rvn, ${seenColumns} FROM @subscription_event WHERE vid IN ${vids} /* replay */`,
		unproven: unprovenAmong(vids),
		visits: select`sid, profile, folded_to, began FROM @visit WHERE sid IN (SELECT sid FROM @hit WHERE vid IN ${vids}) /* replay */`,
		touches: loadTouches(vids),
	});
	const logged = found.hits.map(loggedHit);
	const seen = yield* seenAmong(found.events, found.unproven);
	const eventsOf = Map.groupBy(seen.events, ({ vid }) => String(vid));
	const hitsOf = Map.groupBy(logged, ({ vid }) => vid);
	const visitors = [...hitsOf].map(([vid, hits]) => {
		const events = (eventsOf.get(vid) ?? []).map((row) => subscriptionEntry(row as never));
		return [vid, profileOf([...hits.map(({ entry }) => entry), ...events])] as const;
	});
	const visits = [...Map.groupBy(logged, ({ entry }) => entry.sid)].map(([sid, hits]) => {
		const profile = profileOf(hits.map(({ entry }) => entry));
		return [sid, { vid: hits[0]?.vid as string, profile }] as const;
	});
	const own = before.filter(({ vid }) => vids.includes(String(vid)));
	const stored = new Map([...own, ...found.visits].map(({ sid, vid, profile }) => [sid ?? vid, profile]));
	const changedVisitors = visitors.filter(([vid, profile]) => stored.get(vid) !== JSON.stringify(profile));
	const changedVisits = visits.filter(([sid, { profile }]) => stored.get(sid) !== JSON.stringify(profile));
	const waiting = (rows: readonly Row[]) => rows.filter(({ folded_to }) => folded_to !== null);
	const gone = own.map(({ vid }) => String(vid)).filter((vid) => !hitsOf.has(vid));
	const nowHidden = own.flatMap((row): [string, HiddenLevel][] => {
		const now = seen.hidden.get(String(row.vid)) ?? 0;
		return now === hiddenIn(row.hidden) ? [] : [[String(row.vid), now]];
	});
	const touches = correctTouches(vids, found.touches, touchesOf(logged, beginningsIn(found.visits)));
	yield [
		...isFolded(
			waiting(own).map(({ vid }) => String(vid)),
			waiting(found.visits).map(({ sid }) => String(sid)),
		),
		saveVisitors(changedVisitors),
		saveVisits(changedVisits),
		saveHidden(nowHidden),
		sql`DELETE FROM @visitor WHERE vid IN ${gone} /* replay */`,
		...touches.queries,
	];
	return changedVisitors.length + changedVisits.length + gone.length + touches.changed;
}

/** The items whose profiles match the log. */
export function isFolded(vids: readonly string[], sids: readonly string[]): Query[] {
	const done = 'SET folded_to = NULL, refolded = NULL';
	return [
		sql`UPDATE @visitor ${raw(done)} WHERE vid IN ${vids} /* folded */`,
		sql`UPDATE @visit ${raw(done)} WHERE sid IN ${sids} /* folded */`,
	];
}
