import {
	cidKey,
	compareHolders,
	eventKeys,
	neverProven,
	type Owner,
	type ShownKey,
} from '../../../domain/ownership.ts';
import type { SharedKeys } from '../../../domain/shared-key.ts';
import {
	allEventColumns,
	isTold,
	type StoredEvent,
	storedEventColumns,
} from '../../../domain/subscription-event.ts';
import {
	firstOfEach,
	type InsertedEvents,
	insertsInto,
	insertTold,
	type Owners,
	ownersToStore,
	rowsOfEvents,
} from '../../account/arriving/arriving-events.ts';
import { hasCustomer } from '../../account/owners/customers.ts';
import { holdersOf, namedAmong, ownersOf } from '../../account/owners/identity-links.ts';
import { keysOfEvents, sharedAmong, someShared } from '../../account/owners/shared-keys.ts';
import {
	ownersOfSubscriptions,
	subscribersIn,
	subscriptionKeys,
} from '../../account/owners/subscription-owners.ts';
import { ask, type Query, type Row, type Select, type Steps, select, tuplesOf } from '../../steps.ts';

/** The maximum number of links read at once; any number of visitors may have shown the same `cid`. */
const maxLinks = 2000;
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
	/**
	 * Whether some events probably have owners, who are then found first: to store an event with its owner costs half of storing
	 * both one after the other. Otherwise the round trip of finding them is saved.
	 */
	readonly mayJoin: boolean;
	/**
	 * Whether the account is known to have keys with owners, or that too many share. While it has none, to ask for that alone costs
	 * a tenth less of an upload than to look up its keys.
	 */
	readonly hasKeys: boolean;
}

/** Whether a transaction failed because an event had been stored before. */
export function isRepeat(error: unknown): boolean {
	return (error as { code?: unknown }).code === '23505';
}

/** Put together once: to find a text that is new each time costs an upload more than some look-ups. */
const statementsOf = ({ ofAll, ofNew }: ReturnType<typeof insertsInto>) => ({
	storeAll: `${ofAll} /* store uploads */`,
	// Lists the new rows only if some are not new.
	storeNew: `WITH sent (number) AS (VALUES (?::bigint)), stored AS (${ofNew}) SELECT CASE WHEN count(*) = (SELECT number FROM sent) THEN NULL ELSE coalesce(string_agg(tid, '${separator}'), '') END AS tids FROM stored /* store uploads */`,
	storeNewElsewhere: ofNew,
});
const ownerColumns = ['vid', 'named'];
const kinds = [storedEventColumns, allEventColumns].map((columns) => ({
	unowned: statementsOf(insertsInto(columns)),
	owned: statementsOf(insertsInto([...columns, ...ownerColumns])),
}));

export function* insertUploads(events: readonly StoredEvent[], insertion: Insertion): Steps<InsertedEvents> {
	if (!events.some(isTold)) return yield* insertAll(events, insertion);
	return yield* insertTold(events, () => insertAll(events, insertion));
}

/**
 * Stores the events that are new and finds their owners. Locks keep visitors from showing the events' keys meanwhile.
 */
function* insertAll(events: readonly StoredEvent[], insertion: Insertion): Steps<InsertedEvents> {
	const keys = { lock: 'shared', keys: keysToShare(events) } as const;
	if (!insertion.hasKeys) {
		const { stored, some } = yield* ask({ keys, stored: storing(events, insertion), some: someKeys() });
		const hasKeys = some.length > 0;
		const found = hasKeys ? (yield* ask({ found: lookUp(events) })).found : [];
		return { ...(yield* ownersIn(events, found)), fresh: freshIn(stored, insertion), hasKeys };
	}
	const first = { keys, found: lookUp(events) };
	if (!insertion.mayJoin) {
		const { stored, found } = yield* ask({ ...first, stored: storing(events, insertion) });
		const owners = yield* ownersIn(events, found);
		return { ...owners, fresh: freshIn(stored, insertion) };
	}
	const found = yield* ownersIn(events, (yield* ask(first)).found);
	const owned = ownersToStore(firstOfEach(events), found);
	const { stored } = yield* ask({ stored: storing(events, insertion, owned) });
	return { ...found, fresh: freshIn(stored, insertion), owned };
}

/** So many events have keys of nearly every lock. */
const manyEvents = 256;

function keysToShare(events: readonly StoredEvent[]): readonly string[] | 'all' {
	return events.length < manyEvents ? [...eventKeys(events), ...subscriptionKeys(events)] : 'all';
}

/** A row if the account has any key with an owner, or that too many share. */
function someKeys(): Select {
	return select`1 AS one FROM (SELECT 1) AS none WHERE EXISTS (SELECT 1 FROM @claim) OR EXISTS (SELECT 1 FROM @subscription_event WHERE named > 0) OR EXISTS (SELECT 1 FROM @shared_key) /* some keys */`;
}

/** The statement that stores events. @param owned their owners; undefined where they are stored without */
function storing(
	events: readonly StoredEvent[],
	{ isHere, mayRepeat }: Insertion,
	owned?: ReadonlyMap<string, Owner>,
): Query {
	const all = rowsOfEvents(events);
	const rows = owned
		? all.map((row, index) => {
				const owner = owned.get((events[index] as StoredEvent).tid);
				return [...row, owner?.vid ?? null, owner?.named ?? 0];
			})
		: all;
	const kind = kinds[events.some(isTold) ? 1 : 0] as (typeof kinds)[number];
	const { storeAll, storeNew, storeNewElsewhere } = owned ? kind.owned : kind.unowned;
	if (!mayRepeat) return { sql: storeAll, rows };
	return isHere ? { sql: storeNew, values: [events.length], rows } : { sql: storeNewElsewhere, rows };
}

/** A row of `lookUp`: a link, the owner of a subscription, or a key that too many share. */
type Found = readonly [
	kind: 'link' | 'subscription' | 'shared',
	key: string,
	vid: string,
	/** Of a link: when it was made and proven, and whether its visitor has shown a customer. */
	at: number,
	unprovenUntil: number | null,
	hasCustomer: number,
	/** Of a subscription: see `ownersOfSubscriptions`. */
	cid: string,
	another: number,
];

/**
 * The links from which the rows of `holdersOf` follow, in one pass over the index instead of a look-up for each key: few of
 * an upload's sixty keys have links. Visitors who are being erased do not count here either.
 */
const links = `SELECT key, vid, at, unproven_until, CASE WHEN key < 'd' OR ${hasCustomer('claim.vid')} THEN 1 ELSE 0 END AS has_customer FROM @claim AS claim WHERE key IN ?list AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || claim.vid) LIMIT ${maxLinks + 1}`;
/** One statement: of many accounts, each would cost as much as a few look-ups. */
const lookUpText =
	`SELECT * FROM (SELECT 'link' AS kind, key, vid, at, unproven_until, has_customer, NULL::text, 0 FROM (${links}) AS link
	UNION ALL SELECT 'subscription', subid, vid, NULL, NULL, NULL, cid, another FROM (${ownersOfSubscriptions([]).sql}) AS subscription
	UNION ALL SELECT 'shared', key, NULL, NULL, NULL, NULL, NULL, NULL FROM (${someShared().sql}) AS shared) AS found /* look up */` as const;

function lookUp(events: readonly StoredEvent[]): Select {
	const keys = eventKeys(events);
	const { values = [], rows = [] } = ownersOfSubscriptions(firstOfEach(events));
	// A statement with an empty list is not sent.
	const pairs = rows.length > 0 ? rows : [[null, null]];
	return { sql: lookUpText, values: [keys.length > 0 ? keys : [''], ...values], rows: pairs, asTuples: true };
}

/** @param rows of `lookUp` */
function* ownersIn(
	events: readonly StoredEvent[],
	rows: readonly Row[],
): Steps<Owners & Pick<InsertedEvents, 'shared'>> {
	const ofKind = Map.groupBy(tuplesOf<Found>(rows), ([kind]) => kind);
	const links = ofKind.get('link') ?? [];
	const some = (ofKind.get('shared') ?? []).map(([, key]) => ({ key }));
	const subscriptions = ofKind.get('subscription') ?? [];
	const shared = yield* sharedAmong(some, () => keysOfEvents(events));
	return {
		owners: links.length > 0 ? yield* ownersBy(links, firstOfEach(events), shared) : new Map(),
		...subscribersIn(
			subscriptions.map(([, subid, vid, , , , cid, another]) => ({ subid, vid, cid, another })),
		),
		shared,
	};
}

function* ownersBy(
	links: readonly Found[],
	events: readonly StoredEvent[],
	shared: SharedKeys,
): Steps<InsertedEvents['owners']> {
	if (links.length > maxLinks) return ownersOf(events, yield* holdersOf(events));
	const holders = holdersAmong(links);
	const shown = new Set(links.map(([, key, vid]) => `${vid} ${key}`));
	const customers = new Set(links.flatMap(([, , vid, , , hasCustomer]) => (hasCustomer === 1 ? [vid] : [])));
	return namedAmong(
		events,
		(key) => {
			const holder = shared.has(key) ? undefined : holders.get(key);
			return holder && { vid: holder.vid, isProven: holder.provenAtMs < neverProven };
		},
		(vid, cid) => customers.has(vid) && !shown.has(`${vid} ${cidKey(cid)}`) && !shared.has(cidKey(cid)),
	);
}

function holdersAmong(links: readonly Found[]): Map<string, ShownKey> {
	const first = new Map<string, ShownKey>();
	for (const [, key, vid, atMs, provenAtMs] of links) {
		const holder = { vid, atMs, provenAtMs: provenAtMs ?? atMs };
		const known = first.get(key);
		if (!known || compareHolders(holder, known) < 0) first.set(key, holder);
	}
	return first;
}

/** @param rows of the statement that has stored them */
function freshIn(rows: readonly Row[], { isHere, mayRepeat }: Insertion): InsertedEvents['fresh'] {
	if (!mayRepeat) return 'all';
	if (!isHere) return new Set(rows.map(({ tid }) => String(tid)));
	const [row] = rows;
	if (row?.tids === null) return 'all';
	return new Set(String(row?.tids).split(separator).filter(Boolean));
}
