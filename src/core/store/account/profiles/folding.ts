import { subscriptionKey } from '../../../domain/ownership.ts';
import { ask, type Query, type Row, raw, type Steps, select, sql, values } from '../../steps.ts';
import { unique } from '../../unique.ts';
import {
	anyKey,
	assignEvents,
	type ContestedEvents,
	changeLinks,
	checkAllLinks,
	eventsOfVisitor,
	isUnproven,
	lockContested,
	unprovenAmong,
} from '../owners/identity-links.ts';
import { followFew, followOn, sortedId } from '../owners/subscription-owners.ts';
import { addTasks, beginTasks, leaveTasks } from '../tasks.ts';
import { type Crowd, enterCrowd, reachedCrowd } from './crowded-fold.ts';
import { type HiddenLevel, hiddenIn, saveHidden } from './hidden-events.ts';
import { foldOn, type LogPiece, maxEntries, readOn } from './log-piece.ts';
import { isFolded, nothingFolded, refold, replay, waitToBeFolded, withShortLogs } from './refold.ts';
import { loadVisitors, lockVisitors, saveVisitors, saveVisits } from './stored-profiles.ts';
import { replaceTouches, touchesWithin } from './touches.ts';

/** The most visitors that a piece rebuilds. */
const maxVisitors = 40;

/** One piece of the background work. */
export interface Piece {
	/** The name of its subject. */
	readonly name: string;
	/** Where the subject's log goes on with a crowd, which must be folded before the next piece; see `foldOnce`. */
	readonly crowd?: Crowd | undefined;
}

/**
 * Does one piece of the background work: replays the next entries of a profile that is being rebuilt. Each piece is a short
 * transaction that stores its progress, so work continues there after a stop or a kill.
 *
 * No entry is missed. An entry at or before `folded_to` restarts the replay, and a later one comes later in the log. Both
 * happen under the visitor's lock.
 * @param after the name of the last piece's subject, so that all subjects take turns
 * @returns undefined if nothing waits
 */
export function* foldPiece(after = ''): Steps<Piece | undefined> {
	// One process at a time works for an account.
	const {
		tasks,
		refoldings: [refolding],
	} = yield* ask({
		lock: { lock: 'fold' },
		tasks: nextTasks("name < 'e:' OR name >= 'f:' AND name < 'v:'", maxTasks),
		refoldings: nextTasks("name >= 'v:'", 1),
	});
	const [task, ...others] = [...tasks, ...(refolding ? [refolding] : [])].map(toTask);
	if (task) {
		yield* doTasks([task, ...others]);
		return { name: after };
	}
	const visitors = yield* nextOf('visitor', 'vid', after, maxVisitors);
	if (visitors.length > 0) return yield* foldVisitors(visitors.map(({ vid }) => String(vid)));
	const [visit] = yield* nextOf('visit', 'sid', after, 1);
	if (!visit) return undefined;
	const name = String(visit.sid);
	return { name, crowd: yield* foldVisit(String(visit.vid), name) };
}

interface Task {
	readonly id: number;
	readonly name: string;
	readonly position: number;
}

/** Locked, so that whoever queues the same work again does not rely on this, see `addTasks`. */
function nextTasks(condition: string, max: number): Query {
	return sql`SELECT id, name, position FROM @task WHERE ${raw(condition)} ORDER BY id LIMIT ${raw(max)} FOR UPDATE /* next tasks */`;
}

function toTask({ id, name, position }: Row): Task {
	return { id: Number(id), name: String(name), position: Number(position) };
}

function* nextOf(
	table: 'visitor' | 'visit',
	key: 'vid' | 'sid',
	after: string,
	max: number,
): Steps<readonly Row[]> {
	const next = (name: string): Query =>
		select`${raw(key)}, vid FROM @${raw(table)} WHERE folded_to IS NOT NULL AND ${raw(key)} > ${name} ORDER BY ${raw(key)} LIMIT ${raw(max)} /* what waits */`;
	const { found, first } = yield* ask({
		found: next(after),
		first: next(''),
	});
	return found.length > 0 ? found : first;
}

/** Rebuilds the profiles whose logs are short, or continues with the first whose log is long. */
function* foldVisitors(vids: readonly string[]): Steps<Piece> {
	const [first = ''] = vids;
	const short = (yield* withShortLogs(vids, maxEntries)).filter((vid, index) => vid === vids[index]);
	if (short.length === 0) return { name: first, crowd: yield* foldVisitor(first) };
	const rows = yield* loadVisitors(short);
	yield* replay(short, rows);
	return { name: short.at(-1) as string };
}

/** Older schemas have no background work. */
export const foldingSchema = 3;

/** How much background work waits. Counting stops at some thousands. */
export function* countWaiting(): Steps<number> {
	// PostgreSQL uses the index of what waits only for its order, as long as it has no statistics.
	const count = (table: 'visitor' | 'visit', key: 'vid' | 'sid') =>
		`(SELECT count(*) FROM (SELECT 1 FROM @${table} WHERE folded_to IS NOT NULL ORDER BY ${key} LIMIT 1000) AS first)`;
	const rows =
		yield* select`${raw(count('visitor', 'vid'))} + ${raw(count('visit', 'sid'))} + (SELECT count(*) FROM (SELECT 1 FROM @task LIMIT 1000) AS first) AS number /* count what waits */`;
	return Number(rows[0]?.number);
}

function* foldVisitor(vid: string): Steps<Crowd | undefined> {
	const links = yield* lockUnfounded(vid);
	const rows = yield* loadVisitors(unique([vid, ...(links?.vids ?? [])]));
	const row = rows.find((each) => each.vid === vid);
	if (!row || row.folded_to === null) return undefined;
	const [state] =
		yield* select`folded_to, refolded, hidden FROM @visitor WHERE vid = ${vid} /* fold visitor */`;
	const subject = { key: 'vid', name: vid } as const;
	const crowd = reachedCrowd(subject, vid, state);
	if (crowd) return crowd;
	const fromMs = Number(row.folded_to);
	const read = yield* readOn(subject, fromMs);
	if (read.isCrowded) {
		yield* replaceTouches(vid, { fromMs, toMs: read.toMs - 1 }, []);
		return yield* enterCrowd(subject, vid, { atMs: read.toMs, before: state?.refolded });
	}
	if (links && !(yield* foundLinks(vid, links, read))) return undefined;
	const profile = foldOn(state?.refolded, read.entries);
	const touches = yield* touchesWithin(read.hits);
	yield* replaceTouches(vid, { fromMs, toMs: read.isEnd ? Number.NaN : read.toMs }, touches);
	const before = hiddenIn(state?.hidden);
	const hidden = Math.max(fromMs === nothingFolded ? 0 : before, read.hidden) as HiddenLevel;
	yield [saveHidden(hidden === before ? [] : [[vid, hidden]])];
	if (!read.isEnd)
		yield* sql`UPDATE @visitor SET folded_to = ${read.toMs}, refolded = ${JSON.stringify(profile)} WHERE vid = ${vid} /* fold visitor */`;
	else if (profile && profile.hits > 0) yield [saveVisitors([[vid, profile]]), ...isFolded([vid], [])];
	else yield [sql`DELETE FROM @visitor WHERE vid = ${vid} /* fold visitor */`];
	return undefined;
}

/** Links of a visitor that a piece may find again or delete. */
interface UnfoundedLinks extends ContestedEvents {
	/** Locked keys: those of the piece's hits, and unverified ones. */
	readonly keys: ReadonlySet<string>;
	/** The unverified keys: all of them, or as many as a piece may have. */
	readonly last: readonly string[];
}

/** Locks what a piece needs if links have lost their hits; undefined if none has. */
function* lockUnfounded(vid: string): Steps<UnfoundedLinks | undefined> {
	const {
		unfounded,
		visitors: [row],
	} = yield* ask({
		unfounded: select`key FROM @claim WHERE vid = ${vid} AND unfounded IS NOT NULL ORDER BY key LIMIT ${raw(maxAssigned)} /* unfounded */`,
		visitors: select`folded_to FROM @visitor WHERE vid = ${vid} /* unfounded */`,
	});
	if (unfounded.length === 0 || !row || row.folded_to === null) return undefined;
	const { links, isEnd } = yield* readOn({ key: 'vid', name: vid }, Number(row.folded_to));
	const last = isEnd ? unfounded.map(({ key }) => String(key)) : [];
	const keys = unique([...links.map(({ key }) => key), ...last]);
	const changing = keys.some((key) => key.startsWith('c:')) ? [vid] : [];
	return { ...(yield* lockContested(keys, { changing })), keys: new Set(keys), last };
}

/**
 * Moves links to the first hits that show their keys. At the end of the log, deletes links that no hit shows.
 * @returns whether the replay can continue; false if the log or its events have changed in between
 */
function* foundLinks(vid: string, found: UnfoundedLinks, read: LogPiece): Steps<boolean> {
	if (read.links.some(({ key }) => !found.keys.has(key))) return false;
	const gone = read.isEnd ? found.last : [];
	const hasChanged = yield* changeLinks(read.links, found.shared);
	yield [
		sql`DELETE FROM @claim WHERE vid = ${vid} AND key IN ${gone} AND unfounded IS NOT NULL /* unfounded */`,
		// What proves a link may come later in the log.
		...(!read.isEnd && read.links.some(isUnproven) ? [checkAllLinks(vid)] : []),
	];
	yield* addTasks(found.popular);
	const moved = yield* assignEvents(found.events);
	yield* refold([...moved]);
	if (moved.has(vid) || gone.length === maxAssigned) return false;
	if (!hasChanged && gone.every((key) => key === anyKey)) return true;
	// Other events may be in the profile now, also of the pieces before.
	if ((yield* unprovenAmong([vid])).length === 0) return true;
	yield waitToBeFolded([vid], []);
	return false;
}

function* foldVisit(vid: string, sid: string): Steps<Crowd | undefined> {
	// The visitor's lock covers its visits.
	yield [{ settle: [vid] }, loadVisitors([vid])];
	const [row] = yield* select`folded_to, refolded FROM @visit WHERE sid = ${sid} /* fold visit */`;
	if (!row || row.folded_to === null) return undefined;
	const subject = { key: 'sid', name: sid } as const;
	const crowd = reachedCrowd(subject, vid, row);
	if (crowd) return crowd;
	const read = yield* readOn(subject, Number(row.folded_to));
	if (read.isCrowded) return yield* enterCrowd(subject, vid, { atMs: read.toMs, before: row.refolded });
	const profile = foldOn(row.refolded, read.entries);
	if (!read.isEnd)
		yield* sql`UPDATE @visit SET folded_to = ${read.toMs}, refolded = ${JSON.stringify(profile)} WHERE sid = ${sid} /* fold visit */`;
	else if (profile) yield [saveVisits([[sid, { vid, profile }]]), ...isFolded([], [sid])];
	else yield [sql`DELETE FROM @visit WHERE sid = ${sid} /* fold visit */`];
	return undefined;
}

const maxTasks = 50;
/** The most events of a customer id that a piece assigns. */
const maxAssigned = 50;

/** Does a piece of the first task, with others of its kind if they are small, and stores its progress. */
function* doTasks([task, ...others]: readonly [Task, ...Task[]]): Steps<void> {
	const { id, name, position } = task;
	const subject = name.slice(2);
	const isAlike = (other: Task) => other.name.startsWith('s:') && other.position === 0;
	const alike = isAlike(task) ? [task, ...others.filter(isAlike)] : [task];
	yield [beginTasks(alike.map((one) => one.id))];
	if (name.startsWith('v:')) yield* refoldAfter(id, subject);
	else if (name.startsWith('f:')) {
		yield [lockVisitors([subject])];
		yield* refold([subject]);
		yield [endTasks([id])];
	} else if (name.startsWith('n:')) yield* forgetShown(task);
	else if (name.startsWith('c:')) yield [goOn(task, yield* assignOn(subject, position))];
	else if (name.startsWith('o:')) yield [goOn(task, yield* assignVisitorOn(subject, position))];
	else {
		const all = position === 0 ? unique(alike.map((one) => one.name.slice(2))) : [];
		const { few, moved } = yield* followFew(all);
		const done = new Set(few.map(subscriptionKey));
		const { ended = [], left = [] } = Object.groupBy(alike, (one) => (done.has(one.name) ? 'ended' : 'left'));
		if (few.length > 0) {
			yield* refold([...moved]);
			yield [endTasks(ended.map((one) => one.id)), leaveTasks(left.map((one) => one.id))];
		} else {
			yield [leaveTasks(left.map((one) => one.id))];
			const following = yield* followOn(subject, position);
			yield* refold([...following.moved]);
			yield [goOn(task, following.lastId)];
		}
	}
}

function endTasks(ids: readonly number[]): Query {
	const rows = ids.map((id) => [id]);
	return sql`DELETE FROM @task WHERE id IN (SELECT column1 FROM (${values(rows)}) AS done) /* tasks done */`;
}

/** @param position undefined at the end */
function goOn({ id }: Task, position: number | undefined): Query {
	if (position === undefined) return sql`DELETE FROM @task WHERE id = ${id} /* task done */`;
	return sql`UPDATE @task SET position = ${position} WHERE id = ${id} /* task */`;
}

/**
 * Assigns the events of a customer id to its new holder, a page at a time.
 * @returns the id of the last event; undefined at the end
 */
function* assignOn(cid: string, position: number): Steps<number | undefined> {
	const page =
		yield* select`id, tid FROM @subscription_event WHERE cid = ${cid} AND id > ${position} ORDER BY ${sortedId} LIMIT ${raw(maxAssigned)} /* assign */`;
	const { events, vids } = yield* lockContested([`c:${cid}`, ...page.map(({ tid }) => `t:${tid}`)]);
	yield [lockVisitors(vids)];
	yield* refold([...(yield* assignEvents(events))]);
	const last = page.at(-1);
	// Later events had the right owner from the start. A newer link has its own task.
	return page.length === maxAssigned && last ? Number(last.id) : undefined;
}

/**
 * Takes a key that too many share from some of the visitors who have shown it, with what this changes of theirs: whoever has
 * shown no other customer is nobody's now. At the end, the events with the key are assigned anew.
 */
function* forgetShown({ id, name }: Task): Steps<void> {
	const key = name.slice(2);
	const rows =
		yield* select`vid FROM @claim WHERE key = ${key} ORDER BY at, vid LIMIT ${raw(maxVisitors)} /* forget shown */`;
	const shown = rows.map(({ vid }) => String(vid));
	const changing = key.startsWith('c:') ? shown : [];
	const { events, vids } = yield* lockContested([key], { changing });
	yield [lockVisitors(unique([...shown, ...vids]))];
	yield [sql`DELETE FROM @claim WHERE key = ${key} AND vid IN ${shown} /* forget shown */`];
	const moved = yield* assignEvents(events);
	// Who has claimed other keys may see less now.
	yield* refold([...moved.union(new Set((yield* unprovenAmong(shown)).map(({ vid }) => String(vid))))]);
	if (shown.length === maxVisitors) return;
	yield [endTasks([id])];
	yield* addTasks(key.startsWith('t:') ? [] : [key]);
}

/** Assigns a page of the events of a visitor whose customers have changed. */
function* assignVisitorOn(vid: string, position: number): Steps<number | undefined> {
	const page = yield* eventsOfVisitor(vid, position);
	const { events, vids } = yield* lockContested(page.map(({ tid }) => `t:${tid}`));
	yield [lockVisitors(vids)];
	yield* refold([...(yield* assignEvents(events))]);
	const last = page.at(-1);
	return last && Number(last.id);
}

/** Rebuilds the next visitors, in the order of their `vid`, because more is now derived from their logs. */
function* refoldAfter(taskId: number, vid: string): Steps<void> {
	const rows =
		yield* select`vid FROM @visitor WHERE vid > ${vid} ORDER BY vid LIMIT ${raw(maxVisitors)} /* refold */`;
	yield* refold(rows.map((row) => String(row.vid)));
	const last = rows.at(-1);
	yield [
		last
			? sql`UPDATE @task SET name = ${`v:${last.vid}`} WHERE id = ${taskId} /* refold */`
			: sql`DELETE FROM @task WHERE id = ${taskId} /* refold */`,
	];
}
