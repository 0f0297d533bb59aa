import type { Queryable } from './server-capabilities.ts';

/**
 * Which schemas somebody else keeps locked, with who: a session that has forgotten its transaction, or a change of tables. Uploads and
 * hits of such an account wait for it until they are given up, and whoever reads it waits for as long as it takes.
 * @param schemas a regular expression
 */
export async function lockedSchemas(asked: Queryable, schemas: string): Promise<ReadonlyMap<string, string>> {
	const { rows } = await asked.query(
		`SELECT nspname AS schema, min(format(
				'session %s of %s (%s, %s) keeps its tables locked: wait until it is done, or SELECT pg_terminate_backend(%s)',
				pid, coalesce(usename, 'somebody'), coalesce(nullif(application_name, ''), 'no name'), state, pid
			)) AS who
		 FROM pg_locks JOIN pg_class ON pg_class.oid = relation JOIN pg_namespace ON pg_namespace.oid = relnamespace
			JOIN pg_stat_activity USING (pid)
		 WHERE mode = 'AccessExclusiveLock' AND granted AND nspname ~ $1 AND application_name <> 'caskade'
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		 GROUP BY nspname /* locked schemas */`,
		[schemas],
	);
	return new Map(rows.map(({ schema, who }) => [schema, who]));
}
