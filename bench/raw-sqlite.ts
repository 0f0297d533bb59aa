/**
 * The ceiling: what `node:sqlite` itself can store here. A process of its own; takes what to insert as JSON and prints
 * events per second. Timed is the insertion of events that are in memory, not their making.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { eventOf, type Tids } from './rows.ts';

export interface RawInput {
	readonly path: string;
	readonly prefix: string;
	readonly tids: Tids;
	/** Requests' worth of rows to insert. */
	readonly requests: number;
	/** Rows of one INSERT. */
	readonly rows: number;
	/** INSERTs of one transaction. */
	readonly group: number;
}

const { path, prefix, tids, requests, rows, group }: RawInput = JSON.parse(process.argv[2] as string);

const database = new DatabaseSync(path);
// The service's page cache and the size at which it copies its log back, which is faster here than SQLite's defaults.
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
database.exec('PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4096');
if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'subscription_event'").get()) {
	const migrations = join(import.meta.dirname, '../migrations/sqlite/client');
	for (const file of readdirSync(migrations).sort())
		database.exec(readFileSync(join(migrations, file), 'utf8'));
}

const values = Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?)').join(', ');
const insert = database.prepare(
	`INSERT INTO subscription_event (tid, subid, cid, evt, rvn, received_at) VALUES ${values}`,
);

function insertGroup(uploads: ReturnType<typeof eventOf>[][]): void {
	const receivedAt = Date.now();
	database.exec('BEGIN IMMEDIATE');
	for (const events of uploads) {
		const parameters: (string | number)[] = [];
		for (const { tid, subid, cid, evt, rvn } of events)
			parameters.push(tid, subid, cid, evt, rvn, receivedAt);
		insert.run(...parameters);
	}
	database.exec('COMMIT');
}

let ms = 0;
for (let done = 0; done < requests; done += group) {
	const uploads = Array.from({ length: Math.min(group, requests - done) }, (_, request) =>
		Array.from({ length: rows }, (_, row) => eventOf(prefix, done + request + 1, row + 1, tids)),
	);
	const startedAtMs = performance.now();
	insertGroup(uploads);
	ms += performance.now() - startedAtMs;
}
database.close();
process.stdout.write(JSON.stringify({ eventsPerSecond: ((requests * rows) / ms) * 1000 }));
