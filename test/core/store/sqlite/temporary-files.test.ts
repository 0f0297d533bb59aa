import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SubscriptionEvent } from '../../../../src/core/domain/subscription-event.ts';
import { insertHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { ConnectionPool } from '../../../../src/core/store/sqlite/engine/connection-pool.ts';
import { packEvents } from '../../../../src/core/store/sqlite/queue/commands.ts';
import { commitGroup } from '../../../../src/core/store/sqlite/queue/group-commit.ts';
import { SqliteStore } from '../../../../src/core/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from '../../../support.ts';
import { addAccount, subscriptionEvents } from '../engines.ts';
import { dataFolder, linuxOnly, openFiles, whenStored } from './databases.ts';

/** The files that SQLite has open for temporary data. It deletes their names at once. */
const temporaryFiles = () => openFiles().filter((file) => file.includes('etilqs_'));

test('storing uploads writes no temporary files', linuxOnly, (t) => {
	const pool = new ConnectionPool(dataFolder(t, 1), 4);
	t.after(() => pool.closeAll());
	let opened: string[] | undefined;
	whenStored(pool.get(1).database, 'last', () => {
		opened = temporaryFiles();
	});
	const events = subscriptionEvents(3000).map((event, index) => ({ ...event, subid: `S-${index}` }));
	const text = packEvents([...events, { ...(events[0] as SubscriptionEvent), tid: 'last' }]);
	const input = { text, receivedAtMs: 0, simulate: false };
	const cells = new Int32Array(new SharedArrayBuffer(4));
	const work = { slot: 0, databaseId: 1, input, deadlineMs: Number.POSITIVE_INFINITY, cells };
	commitGroup(pool.get(1), [{ ...work, command: 'storeSubscriptionEvents' }]);
	assert.deepEqual(opened, []);
});

test('imports, and what else changes much of an account, write no temporary files', linuxOnly, async (t) => {
	const store = new SqliteStore(join(temporaryFolder(t), 'data'));
	t.after(() => store.close());
	const accountId = await addAccount(store);
	// Spread over the indexes, so that storing them changes many pages.
	const hits = Array.from({ length: 2000 }, (_, index) => {
		const id = [...(index * 7919).toString(16).padStart(32, '0')].reverse().join('');
		return { vid: id, sid: id, atMs: index, text: '{}' };
	});
	const opened = await store.transact(accountId, function* () {
		yield [insertHits(hits)];
		yield [insertHits(hits)];
		return temporaryFiles();
	});
	assert.deepEqual(opened, []);
});
