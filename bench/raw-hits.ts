/**
 * The floor: what `node:sqlite` itself takes to store hits, with their visitors and visits, as durably and in groups as the
 * service does. No parsing, no rules: profiles are written back as they were read. A process of its own; takes JSON, prints
 * CPU in µs a hit.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

export interface RawHitsInput {
	/** An account's file that has visitors. */
	readonly path: string;
	/** Of a file with a vid and a sid a line: whose visits go on. A fifth of the hits comes from new visitors. */
	readonly visitsPath: string;
	readonly hits: number;
	/** Hits of one transaction. */
	readonly group: number;
	/** `indexed`: each hit is put into the indexes by visitor and visit. `recent`: as the service does. */
	readonly layout: 'indexed' | 'recent';
}

export interface RawHitsCost {
	readonly writingUs: number;
	/** Copying the write-ahead log back. */
	readonly checkpointingUs: number;
}

const { path, visitsPath, hits, group, layout }: RawHitsInput = JSON.parse(process.argv[2] as string);
const database = new DatabaseSync(path);
// As in the service: its page cache, and the size at which it copies its log back.
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON');
database.exec('PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = 0');
const longLogPages = 4096;

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
}

const cpuUs = () => {
	const { user, system } = process.cpuUsage();
	return user + system;
};
let checkpointingUs = 0;
const startedUs = cpuUs();
for (let done = 0; done < hits; done += group) {
	database.exec('BEGIN IMMEDIATE');
	for (let hit = 0; hit < group; hit++) addOne(Date.now() + done + hit);
	database.exec('COMMIT');
	if (Number(database.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.log) < longLogPages) continue;
	const beganUs = cpuUs();
	database.exec('PRAGMA wal_checkpoint(PASSIVE)');
	checkpointingUs += cpuUs() - beganUs;
}
const writingUs = cpuUs() - startedUs - checkpointingUs;
database.close();
const cost: RawHitsCost = { writingUs: writingUs / hits, checkpointingUs: checkpointingUs / hits };
process.stdout.write(JSON.stringify(cost));
