import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { monotonicMs } from '../../clock.ts';
import { reasonOf } from '../../errors.ts';
import { Checkpointer } from './checkpointer.ts';
import type { Connection } from './connection.ts';
import { isBusy, isIoError } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { DataFolder } from './data-folder.ts';
import { commitGroup, dropExpired } from './group-commit.ts';
import type { FromWriter, ToWriter, Work, WorkResult } from './messages.ts';

/** A writer thread: while a process serves, such threads alone write to its databases. */

/** Requests committed together; more would make the first of them wait for little gain. */
const groupLimit = 256;
/** How soon a database that another process had locked is tried again. */
const busyRetryMs = 1;
const reportBusyAfterMs = 1000;

const { folderPath, cellsBuffer, openDatabases } = workerData as {
	folderPath: string;
	cellsBuffer: SharedArrayBuffer;
	openDatabases: number;
};
if (!parentPort) throw new Error('this file is the writer thread');
const port = parentPort;
const cells = new Int32Array(cellsBuffer);
const pool = new ConnectionPool(new DataFolder(folderPath), openDatabases);
const checkpointer = new Checkpointer();
const queues = new Map<number, Work[]>();
/** Databases that another process has locked, and when to try again. */
const retryAtMs = new Map<number, number>();
/** Since when a database is locked; infinity once the operator has been told. */
const busySinceMs = new Map<number, number>();
let stopping = false;
let timer: NodeJS.Timeout | undefined;

function send(message: FromWriter): void {
	port.postMessage(message);
}

function take(message: ToWriter): void {
	if (message.type === 'stop') {
		stopping = true;
		return;
	}
	for (const work of message.work) {
		const queue = queues.get(work.databaseId);
		if (queue) queue.push(work);
		else queues.set(work.databaseId, [work]);
	}
}

/** Takes what has arrived meanwhile, without going back to the event loop. */
function takeWaiting(): void {
	for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) take(next.message);
}

/** The next database whose turn it is. */
function nextDatabase(nowMs: number): number | undefined {
	return queues.keys().find((databaseId) => (retryAtMs.get(databaseId) ?? 0) <= nowMs);
}

function runGroup(databaseId: number): void {
	const { live, results } = dropExpired(queues.get(databaseId) ?? [], cells);
	queues.delete(databaseId);
	const group = live.slice(0, groupLimit);
	const startedAtMs = monotonicMs();
	const outcome = group.length > 0 ? commit(databaseId, group) : [];
	const endedAtMs = monotonicMs();
	// At the end of the map: databases take turns.
	const rest = outcome === 'busy' ? live : live.slice(groupLimit);
	if (rest.length > 0) queues.set(databaseId, rest);
	if (outcome === 'busy') retryLater(databaseId, endedAtMs);
	else {
		retryAtMs.delete(databaseId);
		busySinceMs.delete(databaseId);
		results.push(...outcome);
	}
	if (results.length > 0)
		send({ type: 'results', results, databaseId, commitSeconds: (endedAtMs - startedAtMs) / 1000 });
}

/** Tells the operator, once, of a lock that does not go away. */
function retryLater(databaseId: number, nowMs: number): void {
	retryAtMs.set(databaseId, nowMs + busyRetryMs);
	const sinceMs = busySinceMs.get(databaseId) ?? nowMs;
	if (nowMs - sinceMs < reportBusyAfterMs) busySinceMs.set(databaseId, sinceMs);
	else if (sinceMs !== Number.POSITIVE_INFINITY) {
		busySinceMs.set(databaseId, Number.POSITIVE_INFINITY);
		send({ type: 'error', databaseId, reason: 'another process keeps the database locked' });
	}
}

function commit(databaseId: number, group: readonly Work[]): WorkResult[] | 'busy' {
	for (const failure of checkpointer.takeFailures()) markFailed(failure.databaseId, failure.reason);
	let connection: Connection;
	try {
		connection = pool.get(databaseId);
	} catch (error) {
		if (isBusy(error)) return 'busy';
		const reason = reasonOf(error);
		send({ type: 'error', databaseId, reason });
		return group.map((work) => ({ slot: work.slot, outcome: 'failed', reason, isIoError: isIoError(error) }));
	}
	const results = commitGroup(connection, group, cells);
	if (results === 'busy') return results;
	const failures = results.filter((result) => 'reason' in result);
	const ioFailure = failures.find((result) => result.isIoError);
	if (ioFailure) {
		markFailed(databaseId, ioFailure.reason);
		return settle(databaseId, results);
	}
	const [failure] = failures;
	if (failure) {
		send({ type: 'error', databaseId, reason: failure.reason });
		// A connection that met an error is not trusted any more; the next group gets a fresh one.
		closeQuietly(databaseId);
		return results;
	}
	afterCommit(databaseId, connection);
	if (connection.wakes) {
		connection.wakes = false;
		send({ type: 'waiting', databaseId });
	}
	return results;
}

/** What is committed is durable; where its log cannot be copied, the database is not written to any more. */
function afterCommit(databaseId: number, connection: Connection): void {
	try {
		checkpointer.afterCommit(databaseId, pool.path(databaseId), connection, monotonicMs());
	} catch (error) {
		if (isIoError(error)) markFailed(databaseId, reasonOf(error));
		else send({ type: 'error', databaseId, reason: reasonOf(error) });
	}
}

function markFailed(databaseId: number, reason: string): void {
	send({ type: 'error', databaseId, reason });
	pool.markFailed(databaseId);
}

/** Where the log can be begun anew at once, nothing is left of a COMMIT that failed: then that is known. */
function settle(databaseId: number, results: readonly WorkResult[]): WorkResult[] {
	try {
		pool.get(databaseId);
	} catch {
		return [...results];
	}
	return results.map((result) => (result.outcome === 'unknown' ? { ...result, outcome: 'failed' } : result));
}

function closeQuietly(databaseId: number): void {
	try {
		pool.close(databaseId);
	} catch (error) {
		send({ type: 'error', databaseId, reason: reasonOf(error) });
	}
}

function work(): void {
	clearTimeout(timer);
	takeWaiting();
	for (let databaseId = nextDatabase(monotonicMs()); databaseId !== undefined; ) {
		runGroup(databaseId);
		takeWaiting();
		databaseId = nextDatabase(monotonicMs());
	}
	if (queues.size > 0) timer = setTimeout(work, busyRetryMs);
	else if (stopping) void stop();
}

async function stop(): Promise<void> {
	await checkpointer.stop();
	pool.closeAll();
	port.close();
}

port.on('message', (message: ToWriter) => {
	take(message);
	work();
});
send({ type: 'ready' });
