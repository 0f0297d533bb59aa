import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { monotonicMs } from '../../../../../src/core/clock.ts';
import { Connection } from '../../../../../src/core/store/sqlite/engine/sqlite-connection.ts';
import type { PackedUpload } from '../../../../../src/core/store/sqlite/queue/commands.ts';
import { commitGroup } from '../../../../../src/core/store/sqlite/queue/group-commit.ts';
import { cell, type Work } from '../../../../../src/core/store/sqlite/queue/messages.ts';
import { accountDatabase, openFor, rows, whenStored } from '../databases.ts';

const pack = (events: readonly (readonly [tid: string, rvn: number | string])[]): PackedUpload => ({
	text: JSON.stringify(events.flatMap(([tid, rvn]) => [tid, `S-${tid}`, null, 'newsletter', rvn])),
	receivedAtMs: 0,
	simulate: false,
});

/** An upload of events with these tids. The database refuses revenue that is not a number. */
function work(
	slot: number,
	tids: readonly string[],
	options: { rvn?: number; deadlineMs?: number } = {},
): Work {
	const { rvn = 1, deadlineMs = Number.POSITIVE_INFINITY } = options;
	const input = pack(tids.map((tid) => [tid, rvn]));
	return { slot, databaseId: 1, command: 'storeSubscriptionEvents', input, deadlineMs };
}

/** Commits work of a thread with these cells. */
const commitSharing = (connection: Connection, group: readonly Work[], cells: Int32Array) =>
	commitGroup(
		connection,
		group.map((each) => ({ ...each, cells })),
	);

function start(t: TestContext) {
	const { database, path } = accountDatabase(t);
	const cells = new Int32Array(new SharedArrayBuffer(16 * Int32Array.BYTES_PER_ELEMENT));
	return { database, path, cells, connection: new Connection(database) };
}

const tidsIn = (database: DatabaseSync) =>
	rows(database, 'SELECT tid FROM subscription_event ORDER BY id').map(({ tid }) => tid);

const committed = (slot: number, stored: number) => ({
	slot,
	outcome: 'committed',
	value: { stored, duplicateRows: [], conflictingRows: [] },
});

test('requests of a group see each other in order and share one transaction', (t) => {
	const { database, path, cells, connection } = start(t);
	let seenByOthers: unknown[] = [];
	whenStored(database, 'C', () => {
		seenByOthers = tidsIn(openFor(t, path));
	});
	const results = commitSharing(connection, [work(0, ['A', 'B']), work(1, ['B', 'C'])], cells);
	assert.deepEqual(results, [
		committed(0, 2),
		{ slot: 1, outcome: 'committed', value: { stored: 1, duplicateRows: [0], conflictingRows: [] } },
	]);
	assert.deepEqual(seenByOthers, []);
	assert.deepEqual(tidsIn(database), ['A', 'B', 'C']);
	assert.deepEqual([...cells.subarray(0, 3)], [cell.committing, cell.committing, cell.waiting]);
});

test('a request that the database refuses stores nothing and does not affect the others', (t) => {
	const { database, cells, connection } = start(t);
	const bad: Work = {
		...work(1, ['B']),
		input: pack([
			['B1', 1],
			['B2', 'no number'],
		]),
	};
	const results = commitSharing(connection, [work(0, ['A']), bad, work(2, ['C'])], cells);
	assert.notEqual(results, 'busy');
	const [first, second, third] = results as Exclude<typeof results, 'busy'>;
	assert.deepEqual([first, third], [committed(0, 1), committed(2, 1)]);
	assert.equal(second?.outcome, 'failed');
	assert.deepEqual(tidsIn(database), ['A', 'C']);
});

test('a request that expired before its turn is left out, by its cell or by the clock', (t) => {
	const { database, cells, connection } = start(t);
	Atomics.store(cells, 1, cell.expired);
	const late = work(2, ['C'], { deadlineMs: monotonicMs() });
	const results = commitSharing(connection, [work(0, ['A']), work(1, ['B']), late, work(3, ['D'])], cells);
	assert.deepEqual(results, [
		committed(0, 1),
		{ slot: 1, outcome: 'expired' },
		{ slot: 2, outcome: 'expired' },
		committed(3, 1),
	]);
	assert.deepEqual(tidsIn(database), ['A', 'D']);
	assert.equal(cells[2], cell.expired);
});

test('a request that expires by the timer while it is stored is rolled back, and the group commits', (t) => {
	const { database, cells, connection } = start(t);
	whenStored(database, 'B2', () => {
		assert.equal(Atomics.compareExchange(cells, 1, cell.waiting, cell.expired), cell.waiting);
	});
	const results = commitSharing(connection, [work(0, ['A']), work(1, ['B1', 'B2']), work(2, ['C'])], cells);
	assert.deepEqual(results, [committed(0, 1), { slot: 1, outcome: 'expired' }, committed(2, 1)]);
	assert.deepEqual(tidsIn(database), ['A', 'C']);
});

test('a request that expires by the clock while it is stored is rolled back, before its timer fires', (t) => {
	const { database, cells, connection } = start(t);
	const deadlineMs = monotonicMs() + 50;
	whenStored(database, 'B', () => {
		while (monotonicMs() < deadlineMs);
	});
	const results = commitSharing(connection, [work(0, ['A']), work(1, ['B'], { deadlineMs })], cells);
	assert.deepEqual(results, [committed(0, 1), { slot: 1, outcome: 'expired' }]);
	assert.deepEqual(tidsIn(database), ['A']);
	assert.equal(cells[1], cell.expired, 'the timer, when it fires, finds it decided');
});

test('once a request is committing, its timer cannot expire it', (t) => {
	const { database, cells, connection } = start(t);
	let won = true;
	whenStored(database, 'B', () => {
		won = Atomics.compareExchange(cells, 0, cell.waiting, cell.expired) === cell.waiting;
	});
	assert.deepEqual(commitSharing(connection, [work(0, ['A']), work(1, ['B'])], cells), [
		committed(0, 1),
		committed(1, 1),
	]);
	assert.equal(won, false);
});

test('a request that fails undoes no decision of the others, and a simulated one stays simulated', (t) => {
	const { database, cells, connection } = start(t);
	const simulated = work(1, ['B']);
	const group = [
		work(0, ['A']),
		{ ...simulated, input: { ...(simulated.input as PackedUpload), simulate: true } },
		{ ...work(2, ['C']), input: pack([['C', 'no number']]) },
		work(3, ['B']),
	];
	const results = commitSharing(connection, group, cells) as { outcome: string }[];
	assert.deepEqual(
		results.map(({ outcome }) => outcome),
		['committed', 'committed', 'failed', 'committed'],
	);
	assert.deepEqual(tidsIn(database), ['A', 'B']);
	assert.equal(cells[0], cell.committing, 'no timer expires what is stored');
});

test('if another process holds the lock, nothing happens and nothing is decided', (t) => {
	const { database, path, cells, connection } = start(t);
	const other = openFor(t, path);
	other.exec('BEGIN IMMEDIATE');
	const group = [work(0, ['A']), work(1, ['B'])];
	assert.equal(commitSharing(connection, group, cells), 'busy');
	assert.equal(database.isTransaction, false);
	assert.deepEqual([...cells.subarray(0, 2)], [cell.waiting, cell.waiting]);
	other.exec('ROLLBACK');
	assert.deepEqual(commitSharing(connection, group, cells), [committed(0, 1), committed(1, 1)]);
});

test('if COMMIT fails, every request of the group has failed and nothing is stored', (t) => {
	const { database, cells, connection } = start(t);
	// A constraint that is checked only at COMMIT.
	database.exec(`
		PRAGMA foreign_keys = ON;
		CREATE TABLE nowhere (id INTEGER PRIMARY KEY);
		CREATE TABLE doomed (id INTEGER REFERENCES nowhere (id) DEFERRABLE INITIALLY DEFERRED);
		CREATE TRIGGER doom AFTER INSERT ON subscription_event WHEN new.tid = 'doom'
		BEGIN INSERT INTO doomed VALUES (1); END;
	`);
	Atomics.store(cells, 2, cell.expired);
	const results = commitSharing(connection, [work(0, ['A']), work(1, ['doom']), work(2, ['C'])], cells);
	assert.deepEqual(
		(results as { outcome: string }[]).map(({ outcome }) => outcome),
		['failed', 'failed', 'expired'],
	);
	assert.equal(database.isTransaction, false);
	assert.deepEqual(tidsIn(database), []);
	assert.deepEqual(commitSharing(connection, [work(3, ['A'])], cells), [committed(3, 1)]);
});

test('on a full disk, each request is stored whole if it was acknowledged, or not at all', (t) => {
	const { database, cells, connection } = start(t);
	commitSharing(connection, [work(0, ['A'])], cells);
	const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count);
	database.exec(`PRAGMA max_page_count = ${pages + 3}`);
	const large = Array.from({ length: 1000 }, (_, index) => `B${index}`);
	const results = commitSharing(connection, [work(1, ['before']), work(2, large), work(3, ['after'])], cells);
	const stored = new Set(tidsIn(database));
	const said = (results as { outcome: string }[]).map(({ outcome }) => outcome);
	assert.equal(said[1], 'failed');
	assert.equal(large.filter((tid) => stored.has(tid)).length, 0);
	assert.equal(stored.has('before'), said[0] === 'committed');
	assert.equal(stored.has('after'), said[2] === 'committed');
	assert.ok(stored.has('A'));

	database.exec('PRAGMA max_page_count = 1000000');
	assert.deepEqual(commitSharing(connection, [work(4, large)], cells), [committed(4, 1000)]);
});
