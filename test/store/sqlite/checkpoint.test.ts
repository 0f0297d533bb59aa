import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { checkpointLongLog } from '../../../src/store/sqlite/engine/checkpoint.ts';
import { accountDatabase } from './databases.ts';

const mebibyte = 1024 ** 2;
/** Several times the maximum length of the log. */
const writtenMebibytes = 64;

test('the write-ahead log stays short under continuous writes', (t) => {
	const { database, path } = accountDatabase(t);
	database.exec('PRAGMA wal_autocheckpoint = 0; CREATE TABLE written (block BLOB)');
	const insert = database.prepare('INSERT INTO written VALUES (?)');
	const block = Buffer.alloc(mebibyte);

	let longestLog = 0;
	for (let written = 0; written < writtenMebibytes * mebibyte; written += block.length) {
		insert.run(block);
		checkpointLongLog(database, 'serving');
		longestLog = Math.max(longestLog, statSync(`${path}-wal`).size);
	}
	t.diagnostic(`the longest log had ${Math.round(longestLog / mebibyte)} MiB`);
	assert.ok(statSync(path).size + longestLog > writtenMebibytes * mebibyte, 'all of it went through the log');
	assert.ok(longestLog < 16 * mebibyte, `it grew to ${Math.round(longestLog / mebibyte)} MiB`);
});
