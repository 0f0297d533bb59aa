import type pg from 'pg';
import {
	type StoredEvent,
	storedEventColumns,
	subscriptionEventFields,
} from '../../../domain/subscription-event.ts';
import type { Query } from '../../steps.ts';
import { capabilitiesOf } from '../engine/capabilities.ts';
import { runQuery } from '../engine/run-steps.ts';

/** Separates the `tid`s of an answer; no `tid` contains it. */
const separator = '\u001f';

const insertInto = `INSERT INTO @subscription_event (${storedEventColumns.join(', ')}) ?rows ON CONFLICT (tid) DO NOTHING RETURNING tid`;
const storeEach = `${insertInto} /* store uploads */`;
/** Lists the new rows only if some are not new. Most uploads repeat nothing. */
const storeAll = `WITH sent (number) AS (VALUES (?::bigint)), stored AS (${insertInto}) SELECT CASE WHEN count(*) = (SELECT number FROM sent) THEN NULL ELSE coalesce(string_agg(tid, '${separator}'), '') END AS tids FROM stored /* store uploads */`;

/**
 * Stores the events that are new, in order. The unique index on `tid` decides which are.
 * @param timeoutMs after it a silent connection is cut
 * @returns the new tids, or 'all'
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
