import { DatabaseSync } from 'node:sqlite';
import { maxVisitorsWithHistory, type VisitorBytes } from './database.ts';
import { cidPlaceholder, makeVisitorTemplates, vidPlaceholder } from './visitor-templates.ts';

/**
 * Stores generated visitors in the file of an account that has none. SQL multiplies the templates, so that millions take
 * only minutes. `vid`s are inserted in ascending order; visitors drawn at random are still spread over table and index.
 */
export function seedVisitors(path: string, visitors: number): VisitorBytes {
	const database = new DatabaseSync(path);
	// Without a write-ahead log, everything is written only once. A crash loses nothing of value.
	database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN');
	const templates = addTemplates(database);
	const bytesDuring = (sql: string) => {
		const before = bytesOf(database);
		database.exec(sql);
		return bytesOf(database) - before;
	};
	const own = (text: string) => `replace(${text}, '${vidPlaceholder}', substr(visitor.vid, 1, 30))`;
	const cid = "'cust-' || printf('%07d', visitor.id)";
	const visitorsWithHistory = Math.min(maxVisitorsWithHistory, visitors);
	const of = (table: string) =>
		`visitor JOIN ${table} ON ${table}.template = visitor.id % ${templates} WHERE visitor.id <= ${visitorsWithHistory}`;

	const visitorBytes = bytesDuring(
		`WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${visitors}),
			-- Otherwise each reference to a vid would generate another.
			fresh AS MATERIALIZED (
				SELECT n, printf('%08x', (n - 1) * ${Math.floor(2 ** 32 / visitors)}) || lower(hex(randomblob(12))) AS vid
				FROM number
			)
		INSERT INTO visitor (vid, profile)
		SELECT vid, replace(profile, '${vidPlaceholder}', substr(vid, 1, 30))
		FROM fresh CROSS JOIN template ON template.id = n % ${templates}`,
	);
	const visitBytes = bytesDuring(
		`INSERT INTO visit (sid, vid, profile)
		SELECT ${own('sid')}, visitor.vid, ${own('template_visit.profile')} FROM ${of('template_visit')}`,
	);
	// Creating the indexes after the inserts takes a fraction of the time.
	const indexes = database
		.prepare(
			"SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'hit' AND sql IS NOT NULL",
		)
		.all();
	const hitBytes = bytesDuring(
		`${indexes.map(({ name }) => `DROP INDEX ${name};`).join('')}
		INSERT INTO hit (vid, sid, at, body)
		SELECT visitor.vid, ${own('sid')}, at, replace(body, '${cidPlaceholder}', ${cid}) FROM ${of('template_hit')} ORDER BY at;
		${indexes.map(({ sql }) => sql).join(';')}`,
	);
	database.exec(
		`INSERT INTO claim (key, at, vid)
		SELECT 'c:' || ${cid}, profile ->> '$.firstAtMs', vid FROM visitor WHERE id <= ${visitorsWithHistory}`,
	);
	const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
	const bytes = {
		visitor: visitorBytes / visitors,
		visit: visitBytes / count('visit'),
		hit: hitBytes / count('hit'),
	};
	database.exec('COMMIT; PRAGMA journal_mode = WAL');
	database.close();
	return bytes;
}

/** Stores the templates in temporary tables. @returns their number */
function addTemplates(database: DatabaseSync): number {
	database.exec(`CREATE TEMP TABLE template (id INTEGER PRIMARY KEY, profile);
		CREATE TEMP TABLE template_visit (template, sid, profile);
		CREATE TEMP TABLE template_hit (template, sid, at, body);`);
	const template = database.prepare('INSERT INTO template VALUES (?, ?)');
	const visit = database.prepare('INSERT INTO template_visit VALUES (?, ?, ?)');
	const hit = database.prepare('INSERT INTO template_hit VALUES (?, ?, ?, ?)');
	const templates = makeVisitorTemplates(Date.now());
	for (const [id, { profile, visits, hits }] of templates.entries()) {
		template.run(id, profile);
		for (const { sid, profile } of visits) visit.run(id, sid, profile);
		for (const { sid, atMs, body } of hits) hit.run(id, sid, atMs, body);
	}
	database.exec(`CREATE INDEX temp.template_visit_of ON template_visit (template);
		CREATE INDEX temp.template_hit_of ON template_hit (template)`);
	return templates.length;
}

function bytesOf(database: DatabaseSync): number {
	const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count);
	const free = Number(database.prepare('PRAGMA freelist_count').get()?.freelist_count);
	return (pages - free) * Number(database.prepare('PRAGMA page_size').get()?.page_size);
}
