import { numberedTables } from '../../account/client-tables.ts';
import type { Queryable } from './server-capabilities.ts';

/**
 * Tells of tables whose rows have numbers that are still to be drawn: replication and some backups leave sequences out. Then hits fail,
 * and events get the numbers of others, so that lists leave some out.
 */
export async function sequencesBehind(asked: Queryable, schema: string): Promise<string | undefined> {
	const tables = numberedTables.map(
		(name) =>
			`SELECT '${name}' AS name, (SELECT max(id) FROM "${schema}".${name}) AS last, last_value FROM "${schema}".${name}_id_seq`,
	);
	const { rows } = await asked.query(
		`SELECT name FROM (${tables.join(' UNION ALL ')}) AS tables WHERE last > last_value /* sequences behind */`,
	);
	if (rows.length === 0) return undefined;
	const mending = rows.map(
		({ name }) => `SELECT setval('"${schema}".${name}_id_seq', (SELECT max(id) FROM "${schema}".${name}))`,
	);
	return `numbers are drawn that rows have already, as after a restore without sequences: stop the servers and run ${mending.join('; ')}`;
}
