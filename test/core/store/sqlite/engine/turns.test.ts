import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../../../../src/core/clock.ts';
import { turnSuffix } from '../../../../../src/core/store/sqlite/engine/turns.ts';
import { SqliteStore } from '../../../../../src/core/store/sqlite/sqlite-store.ts';
import { sql } from '../../../../../src/core/store/steps.ts';
import { eventually } from '../../../../eventually.ts';
import { startWritingFor, subscriptionEvents, upload } from '../../engines.ts';
import { dataFolder, openFor } from '../databases.ts';

function* nothing() {
	yield* sql`UPDATE @task SET position = position /* nothing */`;
}

test('whoever waits for a locked database gets it once it is free, and takes its request back', async (t) => {
	const folder = dataFolder(t, 1);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const other = openFor(t, folder.accountPath(1));
	other.exec('BEGIN IMMEDIATE');
	const asked = folder.accountPath(1) + turnSuffix;
	const waiting = store.transact(1, nothing);
	await eventually('it asks', () => existsSync(asked));
	other.exec('ROLLBACK');
	await waiting;
	assert.equal(existsSync(asked), false);
});

test('a writer leaves the database to who asks, after each of its commits', async (t) => {
	const folder = dataFolder(t, 1);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const writer = await startWritingFor(t, store);
	await upload(writer, 1, subscriptionEvents(3));
	const asked = folder.accountPath(1) + turnSuffix;
	writeFileSync(asked, '');
	await upload(writer, 1, subscriptionEvents(3));
	const beganMs = monotonicMs();
	const waiting = upload(writer, 1, subscriptionEvents(3)).then(() => monotonicMs() - beganMs);
	await delay(20);
	rmSync(asked);
	assert.ok((await waiting) >= 19, 'it has waited');
});

test('whoever was killed before its turn does not keep the writer for long', async (t) => {
	const folder = dataFolder(t, 1);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const writer = await startWritingFor(t, store);
	writeFileSync(folder.accountPath(1) + turnSuffix, '');
	for (let turn = 0; turn < 3; turn++)
		assert.equal((await upload(writer, 1, subscriptionEvents(3))).stored, 3);
	await eventually('the request is gone', () => !existsSync(folder.accountPath(1) + turnSuffix));
});
