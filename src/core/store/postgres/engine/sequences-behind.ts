import { clientTableNames } from '../../account/client-tables.ts';
import type { Queryable } from './server-capabilities.ts';

/**
 * Tells of tables whose rows have numbers that are still to be drawn: replication and some backups leave sequences out. Then hits fail,
 * and events get the numbers of others, so that lists leave some out.
 */
export async function sequencesBehind(asked: Queryable, schema: string): Promise<string | undefined> {
	// By name: the catalog has no index of schemas, and a million entries with 10,000 accounts.
	const { rows: sequences } = await asked.query(
		"SELECT relname FROM pg_class WHERE relname = ANY($2) AND relnamespace = $1::regnamespace AND relkind = 'S' /* sequences */",
		[`"${schema}"`, clientTableNames.map((table) => `${table}_id_seq`)],
	);
	const tables = sequences.map(({ relname }) => {
		const name = relname.slice(0, -'_id_seq'.length);
		return `SELECT '${name}' AS name, (SELECT max(id) FROM "${schema}".${name}) AS last, last_value FROM "${schema}".${relname}`;
	});
	const { rows } = await asked.query(
		`SELECT name FROM (${tables.join(' UNION ALL ')}) AS tables WHERE last > last_value /* sequences behind */`,
	);
	if (rows.length === 0) return undefined;
	const mending = rows.map(
		({ name }) => `SELECT setval('"${schema}".${name}_id_seq', (SELECT max(id) FROM "${schema}".${name}))`,
	);
	return `numbers are drawn that rows have already, as after a restore without sequences: stop the servers and run ${mending.join('; ')}`;
}
