/**
 * A baseline: the throughput of `node:sqlite` alone. Runs as a separate process that takes its input as JSON and prints
 * a `RawOutput` as JSON. Only the inserts are timed, not the generation of the events.
 */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { newestSchemaFile } from '../src/core/store/migrations.ts';
import { eventOf, type Tids } from './upload-bodies.ts';

export interface RawInput {
	readonly path: string;
	readonly prefix: string;
	readonly tids: Tids;
	/** INSERTs in all; one stands for a request. */
	readonly inserts: number;
	readonly rowsPerInsert: number;
	readonly insertsPerTransaction: number;
}

export interface RawOutput {
	readonly eventsPerSecond: number;
	/** CPU of an INSERT in microseconds. */
	readonly costUs: number;
}

const { path, prefix, tids, inserts, rowsPerInsert, insertsPerTransaction }: RawInput = JSON.parse(
	process.argv[2] as string,
);

const database = new DatabaseSync(path);
// The service's page cache, and the log size at which it checkpoints. SQLite's defaults are slower.
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
database.exec('PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4096; PRAGMA temp_store = MEMORY');
if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'subscription_event'").get())
	database.exec(readFileSync(newestSchemaFile('sqlite', 'client'), 'utf8'));

const values = Array.from({ length: rowsPerInsert }, () => '(?, ?, ?, ?, ?, ?)').join(', ');
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

let elapsedMs = 0;
let usedUs = 0;
for (let done = 0; done < inserts; done += insertsPerTransaction) {
	const uploads = Array.from({ length: Math.min(insertsPerTransaction, inserts - done) }, (_, request) =>
		Array.from({ length: rowsPerInsert }, (_, row) => eventOf(prefix, done + request + 1, row + 1, tids)),
	);
	const before = process.threadCpuUsage();
	const startedAtMs = performance.now();
	insertGroup(uploads);
	elapsedMs += performance.now() - startedAtMs;
	const used = process.threadCpuUsage(before);
	usedUs += used.user + used.system;
}
database.close();
const output: RawOutput = {
	eventsPerSecond: ((inserts * rowsPerInsert) / elapsedMs) * 1000,
	costUs: usedUs / inserts,
};
process.stdout.write(JSON.stringify(output));
