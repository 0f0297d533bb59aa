import type { QueryResultRow } from 'pg';
import { maxVisitorsWithHistory, type VisitorBytes } from './database.ts';
import { cidPlaceholder, makeVisitorTemplates, vidPlaceholder } from './visitor-templates.ts';

const schema = 'caskade_account_1';

/**
 * Stores generated visitors, like `sqlite-visitors.ts`.
 * @param query runs the statements of one call on one connection
 */
export async function seedVisitors(
	query: (statements: readonly string[]) => Promise<QueryResultRow[]>,
	visitors: number,
): Promise<VisitorBytes> {
	const templates = makeVisitorTemplates(Date.now());
	const visitorsWithHistory = Math.min(maxVisitorsWithHistory, visitors);
	const own = (text: string) => `replace(${text}, '${vidPlaceholder}', left(visitor.vid, 30))`;
	const cid = "'cust-' || lpad(visitor.id::text, 7, '0')";
	const of = (table: string) =>
		`${schema}.visitor JOIN ${table} ON ${table}.template = visitor.id % ${templates.length} WHERE visitor.id <= ${visitorsWithHistory}`;
	const indexes = await query([
		`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = '${schema}' AND tablename = 'hit' AND indexname <> 'hit_pkey'`,
	]);
	await query([
		"SET maintenance_work_mem = '1GB'",
		`CREATE TEMP TABLE template AS SELECT (value ->> 'id')::int AS id, value ->> 'profile' AS profile,
			value -> 'visits' AS visits, value -> 'hits' AS hits
			FROM jsonb_array_elements(${literal(templates.map((template, id) => ({ id, ...template })))}::jsonb)`,
		`CREATE TEMP TABLE template_visit AS SELECT id AS template, value ->> 'sid' AS sid, value ->> 'profile' AS profile
			FROM template, jsonb_array_elements(visits)`,
		`CREATE TEMP TABLE template_hit AS SELECT id AS template, value ->> 'sid' AS sid, (value ->> 'atMs')::bigint AS at,
			value ->> 'body' AS body FROM template, jsonb_array_elements(hits)`,
		'ANALYZE template; ANALYZE template_visit; ANALYZE template_hit',
		`INSERT INTO ${schema}.visitor (vid, profile)
			SELECT vid, replace(profile, '${vidPlaceholder}', left(vid, 30)) FROM (
				SELECT lpad(to_hex((n - 1) * ${Math.floor(2 ** 32 / visitors)}::bigint), 8, '0') || left(md5(random()::text), 24) AS vid, n
				FROM generate_series(1, ${visitors}) AS n
			) AS number JOIN template ON template.id = n % ${templates.length} ORDER BY n`,
		`INSERT INTO ${schema}.visit (sid, vid, profile)
			SELECT ${own('sid')}, visitor.vid, ${own('template_visit.profile')} FROM ${of('template_visit')} ORDER BY visitor.id`,
		// Creating the indexes after the inserts takes a fraction of the time.
		...indexes.map(({ indexname }) => `DROP INDEX ${schema}.${indexname}`),
		`INSERT INTO ${schema}.hit (vid, sid, at, body)
			SELECT visitor.vid, ${own('sid')}, at, replace(body, '${cidPlaceholder}', ${cid}) FROM ${of('template_hit')} ORDER BY at`,
		...indexes.map(({ indexdef }) => String(indexdef)),
		`INSERT INTO ${schema}.claim (key, at, vid)
			SELECT 'c:' || ${cid}, (profile::json ->> 'firstAtMs')::bigint, vid FROM ${schema}.visitor WHERE id <= ${visitorsWithHistory}`,
		...['visitor', 'visit', 'hit', 'claim'].map((table) => `VACUUM ANALYZE ${schema}.${table}`),
		'CHECKPOINT',
	]);
	const bytesOf = async (table: string) => {
		const [row] = await query([
			`SELECT pg_total_relation_size('${schema}.${table}') AS bytes, count(*) FROM ${schema}.${table}`,
		]);
		return Number(row?.bytes) / Number(row?.count);
	};
	return { visitor: await bytesOf('visitor'), visit: await bytesOf('visit'), hit: await bytesOf('hit') };
}

function literal(value: unknown): string {
	return `'${JSON.stringify(value).replaceAll("'", "''")}'`;
}
