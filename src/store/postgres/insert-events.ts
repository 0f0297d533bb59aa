import type pg from 'pg';
import {
	type StoredEvent,
	storedEventColumns,
	subscriptionEventFields,
} from '../../domain/subscription-event.ts';
import type { Query } from '../steps.ts';
import { capabilitiesOf } from './capabilities.ts';
import { runQuery } from './run-steps.ts';

/** Between the `tid`s of an answer; no `tid` has it in it. */
const separator = '\u001f';

const insertInto = `INSERT INTO @subscription_event (${storedEventColumns.join(', ')}) ?rows ON CONFLICT (tid) DO NOTHING RETURNING tid`;
const storeEach = `${insertInto} /* store uploads */`;
/** Names the rows that are new only where not all are: most uploads repeat nothing. */
const storeAll = `WITH sent (number) AS (VALUES (?::bigint)), stored AS (${insertInto}) SELECT CASE WHEN count(*) = (SELECT number FROM sent) THEN NULL ELSE coalesce(string_agg(tid, '${separator}'), '') END AS tids FROM stored /* store uploads */`;

/**
 * Stores what is new of events, in their order. The unique index on `tid` decides which that is.
 * @param timeoutMs after it a connection that stays silent is cut
 * @returns the tids that were new, where not all are
 */
export async function insertEvents(
	client: pg.PoolClient,
	schema: string,
	events: readonly StoredEvent[],
	timeoutMs: number,
): Promise<ReadonlySet<string> | 'all'> {
	const rows = events.map((event) => storedEventColumns.map((column) => event[column]));
	if (!capabilitiesOf(client).canUnnest) {
		const stored = await runQuery(client, schema, { sql: storeEach, rows }, timeoutMs);
		return stored.length === rows.length ? 'all' : new Set(stored.map(({ tid }) => String(tid)));
	}
	const [stored] = await runQuery(client, schema, { sql: storeAll, values: [rows.length], rows }, timeoutMs);
	const tids = stored?.tids as string | null;
	if (tids === null) return 'all';
	return new Set(tids === '' ? [] : tids.split(separator));
}

/** Events as they are stored. */
export function eventsOf(tids: readonly string[]): Query {
	return {
		sql: `SELECT ${subscriptionEventFields.join(', ')} FROM @subscription_event WHERE tid IN ?list /* find conflicts */`,
		values: [tids],
	};
}
