import type pg from 'pg';
import type { Row } from '../../steps.ts';
import { runQuery } from '../engine/run-steps.ts';

/** The maximum number of links read at once; any number of visitors may have shown the same `cid`. */
const maxLinks = 2000;

/** As in `holdersOf`, visitors who are being erased do not count. */
const links = `SELECT key, at, vid FROM @claim AS claim WHERE key IN ?list AND NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || claim.vid) LIMIT ${maxLinks + 1} /* links of keys */`;

/**
 * The rows of `holdersOf`, in one pass over the index instead of a look-up for each key: few of an upload's sixty keys
 * have links.
 * @returns null where there are too many links
 */
export async function firstHolders(
	client: pg.PoolClient,
	schema: string,
	keys: readonly string[],
): Promise<readonly Row[] | null> {
	const rows = await runQuery(client, schema, { sql: links, values: [keys] });
	if (rows.length > maxLinks) return null;
	const first = new Map<string, Row>();
	for (const row of rows) {
		const known = first.get(String(row.key));
		if (!known || isEarlier(row, known)) first.set(String(row.key), row);
	}
	return [...first.values()];
}

function isEarlier(a: Row, b: Row): boolean {
	return Number(a.at) < Number(b.at) || (a.at === b.at && String(a.vid) < String(b.vid));
}
