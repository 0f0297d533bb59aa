import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { monotonicMs } from '../../../../../src/core/clock.ts';
import { Checkpointer } from '../../../../../src/core/store/sqlite/engine/checkpointer.ts';
import { Connection } from '../../../../../src/core/store/sqlite/engine/sqlite-connection.ts';
import { accountDatabase } from '../databases.ts';

const mebibyte = 1024 ** 2;
/** Several times the maximum length of the log. */
const writtenMebibytes = 320;

/** Lets other threads run, but no task of this one. */
const pause = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('the write-ahead log stays short under continuous writes', async (t) => {
	const { database, path } = accountDatabase(t);
	// The writer tries again; here SQLite does, while the other thread shortens the log.
	database.exec(
		'PRAGMA busy_timeout = 5000; PRAGMA wal_autocheckpoint = 0; CREATE TABLE written (block BLOB)',
	);
	const connection = new Connection(database);
	const checkpointer = new Checkpointer();
	t.after(() => checkpointer.stop());
	const block = Buffer.alloc(mebibyte);

	let longestLog = 0;
	// No `await`: a busy writer does not return to its event loop either.
	for (let written = 0; written < writtenMebibytes * mebibyte; written += block.length) {
		connection.statement('INSERT INTO written VALUES (?)').run(block);
		checkpointer.afterCommit(1, path, connection, monotonicMs());
		longestLog = Math.max(longestLog, statSync(`${path}-wal`).size);
		pause(6);
	}
	t.diagnostic(`the longest log had ${Math.round(longestLog / mebibyte)} MiB`);
	assert.ok(statSync(path).size + longestLog > writtenMebibytes * mebibyte, 'all of it went through the log');
	assert.ok(
		longestLog < writtenMebibytes * 0.7 * mebibyte,
		`it grew to ${Math.round(longestLog / mebibyte)} of ${writtenMebibytes} MiB`,
	);
});
