import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { StorageError } from '../../../../../src/core/errors.ts';
import { ConnectionPool } from '../../../../../src/core/store/sqlite/engine/connection-pool.ts';
import type { DataFolder } from '../../../../../src/core/store/sqlite/engine/data-folder.ts';
import { SqliteStore } from '../../../../../src/core/store/sqlite/sqlite-store.ts';
import {
	addAccount,
	type Engine,
	engines,
	openFor,
	startWritingFor,
	storedContent,
	subscriptionEvent,
	upload,
} from '../../engines.ts';
import { dataFolder, linuxOnly, openFiles } from '../databases.ts';

const accounts = 300;
const ids = Array.from({ length: accounts }, (_, index) => index + 1);
/** The database, its write-ahead log, and the index of that. */
const handlesEach = 3;

/** Copies one account, because creating each would take longer than the test. */
function manyAccounts(folder: DataFolder): DataFolder {
	for (const id of ids.slice(1)) copyFileSync(folder.accountPath(1), folder.accountPath(id));
	return folder;
}

/** The number of files under a folder that this process has open. */
const openHandles = (folder: string) => openFiles().filter((file) => file.startsWith(folder)).length;

test('keeps at most its limit of databases open', linuxOnly, (t) => {
	const folder = manyAccounts(dataFolder(t, 1));
	const most = 8;
	const pool = new ConnectionPool(folder, most);
	t.after(() => pool.closeAll());
	pool.get(0);
	for (const id of ids) {
		pool.get(id).statement('SELECT count(*) FROM subscription_event').get();
		assert.ok(openHandles(folder.path) <= most * handlesEach, `after account ${id}`);
	}
	assert.ok(openHandles(folder.path) >= most, 'they are counted at all');
	pool.closeAll();
	assert.equal(openHandles(folder.path), 0);
});

test('closes the least recently used database, but never the control database', (t) => {
	const pool = new ConnectionPool(dataFolder(t, 3), 3);
	t.after(() => pool.closeAll());
	const control = pool.get(0);
	const [first, second] = [pool.get(1), pool.get(2)];
	assert.equal(pool.get(1), first);
	pool.get(3);
	assert.equal(second.database.isOpen, false);
	assert.equal(pool.get(1), first);
	assert.equal(pool.get(0), control);
	assert.notEqual(pool.get(2), second);
});

test('with more open databases, each has a smaller cache', (t) => {
	const pool = new ConnectionPool(dataFolder(t, 8), 8);
	t.after(() => pool.closeAll());
	const cacheKiB = (id: number) =>
		-Number(pool.get(id).database.prepare('PRAGMA cache_size').get()?.cache_size);
	assert.deepEqual([1, 2].map(cacheKiB), [4096, 2048]);
	assert.deepEqual([3, 4, 5].map(cacheKiB), [1024, 1024, 512]);
	assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8].map(cacheKiB), Array(8).fill(512));
});

test('a missing file is an error and is not created', (t) => {
	const folder = dataFolder(t, 1);
	rmSync(folder.accountPath(1));
	const pool = new ConnectionPool(folder, 4);
	t.after(() => pool.closeAll());
	assert.throws(() => pool.get(1), /the file of account 1 is missing/);
	assert.equal(existsSync(folder.accountPath(1)), false);
});

test('uploads to 300 accounts at once use few handles, each for its own account', linuxOnly, async (t) => {
	const folder = manyAccounts(dataFolder(t, 1));
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const writer = await startWritingFor(t, store);
	for (let round = 0; round < 2; round++) {
		const outcomes = ids.map((id) =>
			upload(writer, id, [subscriptionEvent({ tid: `T-${round}`, subid: `S-${id}` })]),
		);
		assert.ok((await Promise.all(outcomes)).every(({ stored }) => stored === 1));
		assert.ok(openHandles(folder.path) < 260 * handlesEach);
	}
	for (const id of [1, 2, 100, 300])
		assert.deepEqual(
			(await storedContent(store, id)).map(({ subid }) => subid),
			[`S-${id}`, `S-${id}`],
		);
});

/** The number of this process' threads that write to accounts. */
function writerThreads(): number {
	const names = readdirSync('/proc/self/task').map((thread) =>
		readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim(),
	);
	return names.filter((name) => name === 'writer').length;
}

test('several threads write to several accounts, one thread per account', linuxOnly, async (t) => {
	const store = await openFor(t, await (engines[0] as Engine).freshAddress(t));
	for (let id = 1; id <= 6; id++) assert.equal(await addAccount(store, `c-a-${id}`), id);
	// Other tests of this process may have some, too.
	const before = writerThreads();
	const writer = await startWritingFor(t, store);
	const tids = Array.from({ length: 40 }, (_, index) => `T-${index}`);
	const uploads = tids.flatMap((tid) =>
		[1, 2, 3, 4, 5, 6].map((id) => upload(writer, id, [subscriptionEvent({ tid })])),
	);
	assert.ok((await Promise.all(uploads)).every(({ stored }) => stored === 1));
	assert.equal(writerThreads() - before, 4);
	assert.equal(writer.queueDepth, 0);
	for (const id of [1, 2, 3, 4, 5, 6])
		assert.deepEqual(
			(await storedContent(store, id)).map(({ tid }) => tid),
			tids,
		);
});

test('an account with a missing file fails alone', async (t) => {
	const folder = dataFolder(t, 2);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const writer = await startWritingFor(t, store);
	rmSync(folder.accountPath(1));
	await assert.rejects(upload(writer, 1, [subscriptionEvent()]), StorageError);
	await assert.rejects(storedContent(store, 1), StorageError);
	assert.equal((await upload(writer, 2, [subscriptionEvent()])).stored, 1);
	assert.equal(existsSync(folder.accountPath(1)), false);
});

test('an account with a missing file is reported to the operator', {}, async (t) => {
	const folder = dataFolder(t, 1);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const errors: string[] = [];
	const writer = await startWritingFor(t, store, { onError: (database) => errors.push(database) });
	rmSync(folder.accountPath(1));
	await assert.rejects(upload(writer, 1, [subscriptionEvent()]), StorageError);
	assert.deepEqual(errors, ['account 1']);
});
