import { compareHolders, eventKeys } from '../../../domain/ownership.ts';
import type { StoredEvent } from '../../../domain/subscription-event.ts';
import { firstOfEach, type Inserted, insertEvents, insertIntoEvents } from '../../account/arriving/events.ts';
import { holdersOf, ownersOf } from '../../account/owners/identity-links.ts';
import {
	ownersOfSubscriptions,
	subidsOf,
	subscribersIn,
	subscriptionKeys,
} from '../../account/owners/subscription-owners.ts';
import { ask, type Row, type Select, type Steps } from '../../steps.ts';

/** Separates the `tid`s of an answer; no `tid` contains it. */
const separator = '\u001f';

/** Lists the new rows only if some are not new. Most uploads repeat nothing. */
const storeAll = `WITH sent (number) AS (VALUES (?::bigint)), stored AS (${insertIntoEvents}) SELECT CASE WHEN count(*) = (SELECT number FROM sent) THEN NULL ELSE coalesce(string_agg(tid, '${separator}'), '') END AS tids FROM stored /* store uploads */`;

/**
 * In one round trip, stores the events that are new and finds their owners. Locks keep visitors from showing the events'
 * keys meanwhile.
 * @param isHere see `isHere`
 */
export function* insertUploads(events: readonly StoredEvent[], isHere: boolean): Steps<Inserted> {
	const keys = eventKeys(events);
	const insert = insertEvents(events);
	const { stored, links, subscriptions } = yield* ask({
		keys: { lock: 'shared', keys },
		subids: { lock: 'shared', keys: subscriptionKeys(events) },
		stored: isHere ? { ...insert, sql: storeAll, values: [events.length] } : insert,
		links: linksOfKeys(keys),
		subscriptions: ownersOfSubscriptions(subidsOf(events)),
	});
	return {
		fresh: isHere ? tidsIn(stored) : new Set(stored.map(({ tid }) => String(tid))),
		owners: links.length > 0 ? yield* ownersBy(links, firstOfEach(events)) : new Map(),
		subscribers: subscribersIn(subscriptions),
	};
}

function* ownersBy(links: readonly Row[], events: readonly StoredEvent[]): Steps<Inserted['owners']> {
	return ownersOf(events, links.length > maxLinks ? yield* holdersOf(events) : holdersAmong(links));
}

/** @param rows of `storeAll` */
function tidsIn([row]: readonly Row[]): ReadonlySet<string> | 'all' {
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
		sql: `SELECT key, at, vid FROM @claim AS claim WHERE key IN ?list AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || claim.vid) LIMIT ${maxLinks + 1} /* links of keys */`,
		values: [keys],
	};
}

function holdersAmong(links: readonly Row[]): Row[] {
	const holder = ({ vid, at }: Row) => ({ vid: String(vid), atMs: Number(at) });
	const first = new Map<string, Row>();
	for (const link of links) {
		const known = first.get(String(link.key));
		if (!known || compareHolders(holder(link), holder(known)) < 0) first.set(String(link.key), link);
	}
	return [...first.values()];
}
