import { DatabaseSync } from 'node:sqlite';
import { maxLogged, type VisitorBytes } from './place.ts';
import { customer, makeTemplates, stem } from './population.ts';

/**
 * Fills the file of an account that has no visitors yet, with SQL alone: millions of them take minutes. `vid`s are
 * inserted in their order, and what is drawn from them at random is at random places of table and index all the same.
 */
export function seedVisitors(path: string, visitors: number): VisitorBytes {
	const database = new DatabaseSync(path);
	// Without a write-ahead log everything is written once; a bench that dies has nothing to lose.
	database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN');
	const templates = addTemplates(database);
	const bytesDuring = (sql: string) => {
		const before = bytesOf(database);
		database.exec(sql);
		return bytesOf(database) - before;
	};
	const own = (text: string) => `replace(${text}, '${stem}', substr(visitor.vid, 1, 30))`;
	const cid = "'cust-' || printf('%07d', visitor.id)";
	const logged = Math.min(maxLogged, visitors);
	const of = (table: string) =>
		`visitor JOIN ${table} ON ${table}.template = visitor.id % ${templates} WHERE visitor.id <= ${logged}`;

	const visitorBytes = bytesDuring(
		`WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${visitors}),
			-- Else a vid would be drawn anew wherever it is named.
			fresh AS MATERIALIZED (
				SELECT n, printf('%08x', (n - 1) * ${Math.floor(2 ** 32 / visitors)}) || lower(hex(randomblob(12))) AS vid
				FROM number
			)
		INSERT INTO visitor (vid, profile)
		SELECT vid, replace(profile, '${stem}', substr(vid, 1, 30))
		FROM fresh CROSS JOIN template ON template.id = n % ${templates}`,
	);
	const visitBytes = bytesDuring(
		`INSERT INTO visit (sid, vid, profile)
		SELECT ${own('sid')}, visitor.vid, ${own('template_visit.profile')} FROM ${of('template_visit')}`,
	);
	// Indexes over what is there already are made in a fraction of the time.
	const indexes = database
		.prepare(
			"SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'hit' AND sql IS NOT NULL",
		)
		.all();
	const hitBytes = bytesDuring(
		`${indexes.map(({ name }) => `DROP INDEX ${name};`).join('')}
		INSERT INTO hit (vid, sid, at, body)
		SELECT visitor.vid, ${own('sid')}, at, replace(body, '${customer}', ${cid}) FROM ${of('template_hit')} ORDER BY at;
		${indexes.map(({ sql }) => sql).join(';')}`,
	);
	database.exec(
		`INSERT INTO claim (key, at, vid)
		SELECT 'c:' || ${cid}, profile ->> '$.firstAtMs', vid FROM visitor WHERE id <= ${logged}`,
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

/** @returns how many there are */
function addTemplates(database: DatabaseSync): number {
	database.exec(`CREATE TEMP TABLE template (id INTEGER PRIMARY KEY, profile);
		CREATE TEMP TABLE template_visit (template, sid, profile);
		CREATE TEMP TABLE template_hit (template, sid, at, body);`);
	const template = database.prepare('INSERT INTO template VALUES (?, ?)');
	const visit = database.prepare('INSERT INTO template_visit VALUES (?, ?, ?)');
	const hit = database.prepare('INSERT INTO template_hit VALUES (?, ?, ?, ?)');
	const templates = makeTemplates(Date.now());
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
