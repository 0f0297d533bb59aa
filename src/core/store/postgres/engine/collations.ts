import type { Queryable } from './server-capabilities.ts';

/** PostgreSQL 14 does not record the version of a database's collation. */
const firstRecorded = 150_000;

/**
 * One text about the collations that have another version than recorded: that of the database, and those that its indexes
 * sort by; one that was made without a version has another one, too. Empty or NULL: there is none.
 */
export const aboutChangedCollations = `SELECT string_agg(format(
		'%s sorts text by version %s of its library and was made with %s: REINDEX whatever in it is not Caskade''s, then run %s',
		what, coalesce(actual, 'none'), coalesce(recorded, 'none'), remedy
	), '; ') AS about FROM (
	SELECT 'the database ' || datname AS what, datcollversion AS recorded, pg_database_collation_actual_version(oid) AS actual,
		format('ALTER DATABASE %I REFRESH COLLATION VERSION', datname) AS remedy
	FROM pg_database WHERE datname = current_database()
	UNION ALL
	SELECT 'the collation ' || oid::regcollation, collversion, pg_collation_actual_version(oid),
		format('ALTER COLLATION %s REFRESH VERSION', oid::regcollation)
	FROM pg_collation WHERE collprovider <> 'd' AND oid IN (SELECT unnest(indcollation::oid[]) FROM pg_index)
) AS collations WHERE recorded IS DISTINCT FROM actual /* changed collations */`;

/**
 * Tells whether a database sorts texts otherwise than when it was made: a library of the system has another version. Keys of
 * Caskade are compared by their bytes, but what else sorts texts there may not find what it has stored.
 */
export async function changedCollations(asked: Queryable): Promise<string | undefined> {
	const { rows: versions } = await asked.query(
		"SELECT current_setting('server_version_num')::integer AS version /* version */",
	);
	if (versions[0].version < firstRecorded) return undefined;
	const { rows } = await asked.query(aboutChangedCollations);
	return rows[0].about ?? undefined;
}
