/**
 * A baseline: the CPU time of `node:sqlite` alone for storing hits with their visitors, visits and touches, with the
 * service's durability and group commit. Nothing is parsed or computed: profiles are written back as they were read. Runs as a
 * separate process that takes its input as JSON and prints µs of CPU per hit as JSON.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

export interface RawHitsInput {
	/** The file of an account with visitors. */
	readonly path: string;
	/** A file of visits to continue, one `vid sid` per line. A fifth of the hits comes from new visitors instead. */
	readonly visitsPath: string;
	readonly hits: number;
	readonly hitsPerTransaction: number;
	/** `indexed`: hits go into a table with indexes by visitor and visit. `recent`: into the service's `recent_hit`. */
	readonly layout: 'indexed' | 'recent';
}

export interface RawHitsCost {
	readonly writingUs: number;
	/** CPU of copying the write-ahead log back into the database. */
	readonly checkpointingUs: number;
}

const { path, visitsPath, hits, hitsPerTransaction, layout }: RawHitsInput = JSON.parse(
	process.argv[2] as string,
);
const database = new DatabaseSync(path);
// The service's page cache, and the log size at which it checkpoints.
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON');
database.exec('PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY');
const checkpointAtPages = 4096;

const statement = (sql: string) => {
	const prepared = database.prepare(sql);
	return (...values: SQLInputValue[]) => prepared.get(...values);
};
const readVisitor = statement('SELECT profile FROM visitor WHERE vid = ?');
const readVisit = statement('SELECT profile FROM visit WHERE sid = ?');
const table = layout === 'recent' ? 'recent_hit' : 'hit';
const addHit = statement(`INSERT INTO ${table} (vid, sid, at, body) VALUES (?, ?, ?, ?) RETURNING id`);
const listed = layout === 'recent' ? ", recent = substr(concat_ws(',', recent, excluded.recent), -512)" : '';
const saveVisitor = statement(
	`INSERT INTO visitor (vid, profile, recent) VALUES (?, ?, ?) ON CONFLICT (vid) DO UPDATE SET profile = excluded.profile${listed}`,
);
const saveVisit = statement(
	'INSERT INTO visit (sid, vid, profile) VALUES (?, ?, ?) ON CONFLICT (sid) DO UPDATE SET profile = excluded.profile',
);
const addTouch = statement('INSERT INTO touch (vid, at, origin) VALUES (?, ?, ?)');
const origin = JSON.stringify(['organic', 'www.google.com', null, null, 'articles/page-1']);
const one = database.prepare('SELECT profile FROM visitor LIMIT 1').get()?.profile as string;
const oneOfVisit = database.prepare('SELECT profile FROM visit LIMIT 1').get()?.profile as string;
const body = database.prepare('SELECT body FROM hit LIMIT 1').get()?.body as string;
const visits = readFileSync(visitsPath, 'latin1')
	.trim()
	.split('\n')
	.map((visit) => visit.split(' '));
const newId = () => randomBytes(16).toString('hex');

function addOne(atMs: number): void {
	const isNew = Math.random() < 0.2;
	const [vid, sid] = (isNew ? [newId(), newId()] : visits[Math.floor(Math.random() * visits.length)]) as [
		string,
		string,
	];
	const profile = (readVisitor(vid)?.profile ?? one) as string;
	const visitProfile = (readVisit(sid)?.profile ?? oneOfVisit) as string;
	const id = addHit(vid, sid, atMs, body)?.id as number;
	saveVisitor(vid, profile, layout === 'recent' ? String(id) : null);
	saveVisit(sid, vid, visitProfile);
	if (isNew) addTouch(vid, atMs, origin);
}

const cpuUs = () => {
	const { user, system } = process.cpuUsage();
	return user + system;
};
let checkpointingUs = 0;
const startedUs = cpuUs();
for (let done = 0; done < hits; done += hitsPerTransaction) {
	database.exec('BEGIN IMMEDIATE');
	for (let hit = 0; hit < hitsPerTransaction; hit++) addOne(Date.now() + done + hit);
	database.exec('COMMIT');
	if (Number(database.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.log) < checkpointAtPages) continue;
	const beganUs = cpuUs();
	database.exec('PRAGMA wal_checkpoint(PASSIVE)');
	checkpointingUs += cpuUs() - beganUs;
}
const writingUs = cpuUs() - startedUs - checkpointingUs;
database.close();
const cost: RawHitsCost = { writingUs: writingUs / hits, checkpointingUs: checkpointingUs / hits };
process.stdout.write(JSON.stringify(cost));
