import { cidKey, compareHolders, eventKeys, neverProven, type ShownKey } from '../../../domain/ownership.ts';
import type { SharedKeys } from '../../../domain/shared-key.ts';
import { isTold, type StoredEvent } from '../../../domain/subscription-event.ts';
import {
	eventInserts,
	firstOfEach,
	type Inserted,
	insertEvents,
	insertTold,
	toldEventInserts,
} from '../../account/arriving/events.ts';
import { hasCustomer } from '../../account/owners/customers.ts';
import { holdersOf, namedAmong, ownersOf } from '../../account/owners/identity-links.ts';
import { keysOfEvents, sharedAmong, someShared } from '../../account/owners/shared-keys.ts';
import {
	ownersOfSubscriptions,
	subscribersIn,
	subscriptionKeys,
} from '../../account/owners/subscription-owners.ts';
import { ask, type Query, type Row, type Select, type Steps } from '../../steps.ts';

/** Separates the `tid`s of an answer; no `tid` contains it. */
const separator = '\u001f';

/** How uploads are stored. */
export interface Insertion {
	/** See `isHere`. */
	readonly isHere: boolean;
	/**
	 * Whether some events may have been stored before. To ask costs PostgreSQL a sixth of its part of an upload. Without it, a
	 * transaction with such an event fails, see `isRepeat`.
	 */
	readonly mayRepeat: boolean;
}

/** Whether a transaction failed because an event had been stored before. */
export function isRepeat(error: unknown): boolean {
	return (error as { code?: unknown }).code === '23505';
}

/** Put together once: to find a text that is new each time costs an upload more than some look-ups. */
const statementsOf = ({ ofAll, ofNew }: typeof eventInserts) => ({
	storeAll: `${ofAll} /* store uploads */`,
	// Lists the new rows only if some are not new.
	storeNew: `WITH sent (number) AS (VALUES (?::bigint)), stored AS (${ofNew}) SELECT CASE WHEN count(*) = (SELECT number FROM sent) THEN NULL ELSE coalesce(string_agg(tid, '${separator}'), '') END AS tids FROM stored /* store uploads */`,
});
const statements = statementsOf(eventInserts);
const toldStatements = statementsOf(toldEventInserts);

export function* insertUploads(events: readonly StoredEvent[], insertion: Insertion): Steps<Inserted> {
	if (!events.some(isTold)) return yield* insertAll(events, insertion, statements);
	return yield* insertTold(events, () => insertAll(events, insertion, toldStatements));
}

/**
 * In one round trip, stores the events that are new and finds their owners. Locks keep visitors from showing the events'
 * keys meanwhile.
 */
function* insertAll(
	events: readonly StoredEvent[],
	insertion: Insertion,
	{ storeAll, storeNew }: typeof statements,
): Steps<Inserted> {
	const { isHere, mayRepeat } = insertion;
	const keys = eventKeys(events);
	const insert: Query = insertEvents(events);
	const storing = isHere ? { ...insert, sql: storeNew, values: [events.length] } : insert;
	const { stored, links, subscriptions, some } = yield* ask({
		keys: { lock: 'shared', keys },
		subids: { lock: 'shared', keys: subscriptionKeys(events) },
		stored: mayRepeat ? storing : { ...insert, sql: storeAll },
		links: linksOfKeys(keys),
		subscriptions: ownersOfSubscriptions(firstOfEach(events)),
		some: someShared(),
	});
	const shared = yield* sharedAmong(some, () => keysOfEvents(events));
	return {
		fresh: mayRepeat ? freshIn(stored, isHere) : 'all',
		owners: links.length > 0 ? yield* ownersBy(links, firstOfEach(events), shared) : new Map(),
		...subscribersIn(subscriptions),
		shared,
	};
}

function* ownersBy(
	links: readonly Row[],
	events: readonly StoredEvent[],
	shared: SharedKeys,
): Steps<Inserted['owners']> {
	if (links.length > maxLinks) return ownersOf(events, yield* holdersOf(events));
	const holders = holdersAmong(links);
	const shown = new Set(links.map(({ vid, key }) => `${vid} ${key}`));
	const customers = new Set(links.filter((link) => link.has_customer).map(({ vid }) => vid));
	return namedAmong(
		events,
		(key) => {
			const holder = shared.has(key) ? undefined : holders.get(key);
			return holder && { vid: holder.vid, isProven: holder.provenAtMs < neverProven };
		},
		(vid, cid) => customers.has(vid) && !shown.has(`${vid} ${cidKey(cid)}`) && !shared.has(cidKey(cid)),
	);
}

/** @param rows of `storeNew`, or the new events where the account is elsewhere */
function freshIn(rows: readonly Row[], isHere: boolean): Inserted['fresh'] {
	if (!isHere) return new Set(rows.map(({ tid }) => String(tid)));
	const [row] = rows;
	if (row?.tids === null) return 'all';
	return new Set(String(row?.tids).split(separator).filter(Boolean));
}

/** The maximum number of links read at once; any number of visitors may have shown the same `cid`. */
const maxLinks = 2000;

/**
 * The links from which the rows of `holdersOf` follow, in one pass over the index instead of a look-up for each key: few of
 * an upload's sixty keys have links. Visitors who are being erased do not count here either.
 */
function linksOfKeys(keys: readonly string[]): Select {
	return {
		sql: `SELECT key, at, vid, unproven_until, key < 'd' OR ${hasCustomer('claim.vid')} AS has_customer FROM @claim AS claim WHERE key IN ?list AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || claim.vid) LIMIT ${maxLinks + 1} /* links of keys */`,
		values: [keys],
	};
}

function holdersAmong(links: readonly Row[]): Map<string, ShownKey> {
	const first = new Map<string, ShownKey>();
	for (const link of links) {
		const key = String(link.key);
		const holder = {
			vid: String(link.vid),
			atMs: Number(link.at),
			provenAtMs: Number(link.unproven_until ?? link.at),
		};
		const known = first.get(key);
		if (!known || compareHolders(holder, known) < 0) first.set(key, holder);
	}
	return first;
}
