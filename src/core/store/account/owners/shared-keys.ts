import { isMissingKey } from '../../../domain/missing-key.ts';
import { cidKey, eventKeys, type Joinable, subscriptionKey } from '../../../domain/ownership.ts';
import { maxSharing, type SharedKeys } from '../../../domain/shared-key.ts';
import {
	type Askable,
	type Reading,
	type Row,
	raw,
	type Select,
	type Steps,
	select,
	sql,
	values,
} from '../../steps.ts';
import { unique } from '../../unique.ts';
import { addTasks } from '../tasks.ts';

/** In SQL: whether too many share a key. @param key an expression */
export function isSharedSql(key: string): string {
	return `EXISTS (SELECT 1 FROM @shared_key AS shared WHERE shared.key = ${key})`;
}

/** The most that are read without asking which. Nearly all accounts have none, and asking costs a look-up for each key. */
const maxRead = 100;

/** Some keys that too many share, for `sharedAmong`. */
export function someShared(): Askable<Select> {
	return select`key FROM @shared_key LIMIT ${raw(maxRead + 1)} /* some shared keys */`;
}

/** Those of some keys that too many share, and perhaps others. @param some rows of `someShared` */
export function* sharedAmong(some: readonly Row[], keys: () => readonly string[]): Reading<SharedKeys> {
	return sharedIn(some.length > maxRead ? yield* findShared(keys()) : some);
}

/** Those of some keys that too many share. */
export function findShared(keys: readonly string[]): Askable<Select> {
	return select`key FROM @shared_key WHERE key IN ${unique(keys)} /* shared keys */`;
}

/** @param rows with a `key` */
export function sharedIn(rows: readonly Row[]): SharedKeys {
	return new Set(rows.map(({ key }) => String(key)));
}

/** All keys of events. */
export function keysOfEvents(events: readonly (Joinable & { readonly subid: string })[]): string[] {
	return [...eventKeys(events), ...events.map(({ subid }) => subscriptionKey(subid))];
}

/** All keys that too many share. There are few. */
export function* allShared(): Reading<SharedKeys> {
	return sharedIn(yield* select`key FROM @shared_key /* all shared keys */`);
}

/** In SQL: how many visitors have shown a key. Counting stops just above the limit. @param key an expression */
export function countShowingSql(key: string): string {
	return `(SELECT count(*) FROM (SELECT 1 FROM @claim AS claim WHERE claim.key = ${key} LIMIT ${maxSharing + 1}) AS showing)`;
}

/**
 * Looks whether too many visitors share keys that some have just shown.
 * @param keys locked, so that nobody else is adding a visitor
 */
export function* lookAtShown(keys: readonly string[]): Steps<void> {
	if (keys.length === 0) return;
	const found =
		yield* select`key FROM ${keys} AS list WHERE ${raw(countShowingSql('list.key'))} > ${raw(maxSharing)} /* shared by visitors */`;
	yield* saveShared(found.map(({ key }) => String(key)));
}

/** All keys that too many visitors share, for databases that were filled before anybody looked. */
export function* sharedByVisitors(): Reading<string[]> {
	const rows =
		yield* select`key FROM @claim GROUP BY key HAVING count(*) > ${raw(maxSharing)} /* all shared by visitors */`;
	return rows.map(({ key }) => String(key)).filter((key) => !isMissingKey(key.slice(2)));
}

/** Events of a page. */
const pageEvents = 2000;

/** The keys of a page of events that too many share. */
export interface SharedByEvents {
	readonly keys: readonly string[];
	/** The page's other keys, and those, which were looked at. */
	readonly lookedAt: readonly string[];
	/** Of the page's last event; undefined if there is none. */
	readonly lastId: number | undefined;
	readonly isEnd: boolean;
}

/**
 * Of the next events, in the order of their ids, the `cid`s that too many subscriptions share and the `subid`s that too many
 * customers share. Finding this out where they arrive would cost an upload as much as storing them.
 * @param known keys that need not be looked at: one of very many events costs as much as all of them
 */
export function* sharedByEvents(afterId: number, known: ReadonlySet<string>): Reading<SharedByEvents> {
	const page =
		yield* select`id, cid, subid FROM @subscription_event WHERE id > ${afterId} ORDER BY id LIMIT ${raw(pageEvents)} /* events that may share */`;
	const textsOf = (field: 'cid' | 'subid') =>
		unique(page.flatMap((row) => (row[field] === null ? [] : [String(row[field])]))).filter(
			(text) => !isMissingKey(text) && !known.has(field === 'cid' ? cidKey(text) : subscriptionKey(text)),
		);
	const [shownCids, shownSubids] = [textsOf('cid'), textsOf('subid')];
	const cids =
		yield* select`key FROM ${shownCids} AS list WHERE ${raw(isShared("'c:' || list.key", 'subid', ['cid = list.key']))} /* shared by subscriptions */`;
	// There is an index of each part.
	const parts = ['subid = list.key AND named > 0', 'subid = list.key AND named = 0 AND cid IS NOT NULL'];
	const subids =
		yield* select`key FROM ${shownSubids} AS list WHERE ${raw(isShared("'s:' || list.key", 'cid', parts))} /* shared by customers */`;
	const last = page.at(-1);
	return {
		keys: [
			...cids.map(({ key }) => cidKey(String(key))),
			...subids.map(({ key }) => subscriptionKey(String(key))),
		],
		lookedAt: [...shownCids.map(cidKey), ...shownSubids.map(subscriptionKey)],
		lastId: last && Number(last.id),
		isEnd: page.length < pageEvents,
	};
}

/**
 * In SQL: whether the events of a key have too many different values, which was not known.
 * @param parts conditions that together are those of the events
 */
function isShared(key: string, column: 'cid' | 'subid', parts: readonly string[]): string {
	const from = (part: string) => `FROM @subscription_event AS event WHERE ${part}`;
	const events = parts
		.map((part) => `(SELECT count(*) FROM (SELECT 1 ${from(part)} LIMIT ${maxSharing + 1}) AS first)`)
		.join(' + ');
	const different = `(SELECT count(DISTINCT ${column}) FROM (${parts.map((part) => `SELECT ${column} ${from(part)}`).join(' UNION ALL ')}) AS every)`;
	// Nearly all have few events.
	return `CASE WHEN ${events} <= ${maxSharing} OR ${isSharedSql(key)} THEN 0 WHEN ${different} > ${maxSharing} THEN 1 ELSE 0 END = 1`;
}

/** Keeps that too many share keys. The background then takes them from the visitors who have shown them. */
export function* saveShared(keys: readonly string[]): Steps<void> {
	const found =
		yield* sql`INSERT INTO @shared_key (key) ${values(keys.map((key) => [key]))} ON CONFLICT (key) DO NOTHING RETURNING key /* save shared keys */`;
	yield* addTasks(found.map(({ key }) => `n:${key}`));
}

const placeName = 'events looked at for shared keys';
/** PostgreSQL's ids may become visible out of order, where transactions last. */
const maxLateIds = 10_000;

/** The event after which nobody has looked yet for keys that too many share. */
export function* findLookedTo(): Reading<number> {
	const [row] = yield* select`body FROM @kept_figure WHERE name = ${placeName} /* looked to */`;
	return row ? Math.max(0, Number(row.body) - maxLateIds) : 0;
}

export function* saveLookedTo(lastId: number): Steps<void> {
	yield* sql`INSERT INTO @kept_figure (name, at, body) ${values([[placeName, 0, String(lastId)]])} ON CONFLICT (name) DO UPDATE SET body = excluded.body /* looked to */`;
}
