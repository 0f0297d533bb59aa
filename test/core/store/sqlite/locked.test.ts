import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { monotonicMs } from '../../../../src/core/clock.ts';
import { Deadline } from '../../../../src/core/deadline.ts';
import { SqliteStore } from '../../../../src/core/store/sqlite/sqlite-store.ts';
import {
	receivedAtMs,
	startWritingFor,
	storedContent,
	subscriptionEvent,
	subscriptionEvents,
	upload,
} from '../engines.ts';
import { dataFolder, openFor } from './databases.ts';

/** A store with accounts 1 and 2; another connection holds the first one's write lock. */
async function startLocked(t: TestContext) {
	const folder = dataFolder(t, 2);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const writer = await startWritingFor(t, store);
	const other = openFor(t, folder.accountPath(1));
	other.exec('BEGIN IMMEDIATE');
	return { store, writer, unlock: () => other.exec('ROLLBACK') };
}

test('an upload waits for the lock of another process, and uploads to other accounts do not', async (t) => {
	const { store, writer, unlock } = await startLocked(t);
	const events = subscriptionEvents(3);
	const waiting = upload(writer, 1, events);
	assert.equal((await upload(writer, 2, [subscriptionEvent()])).stored, 1);
	await writer.probe();
	assert.deepEqual(await storedContent(store, 1), []);
	unlock();
	assert.equal((await waiting).stored, 3);
	assert.deepEqual(await storedContent(store, 1), events);
});

test('an upload that waits for a lock expires at its deadline and is not stored later', async (t) => {
	const { store, writer, unlock } = await startLocked(t);
	// Either the timer or the writer's next attempt decides. Nobody waits for the lock.
	const deadline = new Deadline(100, () => {});
	const given = { events: subscriptionEvents(3), receivedAtMs, simulate: false };
	const waiting = writer.storeSubscriptionEvents(1, given, deadline);
	assert.equal(await waiting, 'expired');
	unlock();
	const later = subscriptionEvent();
	await upload(writer, 1, [later]);
	assert.deepEqual(await storedContent(store, 1), [later]);
});

test("a late timer expires its own upload, not the slot's next one", async (t) => {
	const { store, writer, unlock } = await startLocked(t);
	const deadline = new Deadline(60_000, () => {});
	t.after(() => deadline.clear());
	let late = () => true;
	const timerWouldRun = {
		atMs: monotonicMs(),
		decideBy(expire: () => boolean) {
			late = expire;
		},
	} as Deadline;
	const given = { events: subscriptionEvents(1), receivedAtMs, simulate: false };
	assert.equal(await writer.storeSubscriptionEvents(1, given, timerWouldRun), 'expired');
	const next = subscriptionEvents(1);
	const waiting = writer.storeSubscriptionEvents(1, { ...given, events: next }, deadline);
	assert.equal(late(), false);
	unlock();
	assert.notEqual(await waiting, 'expired');
	assert.deepEqual(await storedContent(store, 1), next);
});

test('a stopping server finishes what waits for a lock', async (t) => {
	const { store, writer, unlock } = await startLocked(t);
	const waiting = upload(writer, 1, [subscriptionEvent()]);
	const stopped = writer.stop();
	unlock();
	assert.equal((await waiting).stored, 1);
	await stopped;
	assert.equal((await storedContent(store, 1)).length, 1);
});
