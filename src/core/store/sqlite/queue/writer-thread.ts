import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { monotonicMs } from '../../../clock.ts';
import { reasonOf } from '../../../errors.ts';
import { collectGarbage } from '../../../garbage.ts';
import { NoFileHandlesError } from '../../file-handles.ts';
import { goneEveryMs } from '../engine/account-file.ts';
import { Checkpointer } from '../engine/checkpointer.ts';
import { ConnectionPool } from '../engine/connection-pool.ts';
import { DataFolder } from '../engine/data-folder.ts';
import type { Connection } from '../engine/sqlite-connection.ts';
import { isBusy, isIoError } from '../engine/sqlite-connection.ts';
import { Turns } from '../engine/turns.ts';
import { type ArrivedWork, commitGroup, dropExpired, expired } from './group-commit.ts';
import type { FromWriter, ToWriter, WorkResult, WriterData } from './messages.ts';

/** A writer thread: stores what requests bring. Background jobs and commands write to the same databases beside it. */

/** The maximum number of requests committed together. More would delay the first of them for little gain. */
const groupLimit = 256;
/** Why a database cannot be written to now, and the pause before another attempt. */
interface Obstacle {
	readonly reason: string;
	readonly retryMs: number;
}

const locked: Obstacle = { reason: 'another process keeps the database locked', retryMs: 1 };
const noHandles: Obstacle = { reason: 'no file handles are left', retryMs: 10 };
const logsEveryMs = 4000;
/** An obstacle that stays is reported. Requests wait for a lock until they expire, but for file handles no longer. */
const reportAfterMs = 1000;

const { folderPath, openDatabases, cells: cellsBuffer } = workerData as WriterData;
if (!parentPort) throw new Error('this file is the writer thread');
const owner = parentPort;
const cells = new Int32Array(cellsBuffer);
const pool = new ConnectionPool(new DataFolder(folderPath), openDatabases);
const checkpointer = new Checkpointer();
const turns = new Turns();
const queues = new Map<number, ArrivedWork[]>();
/** When to try the databases again that could not be written to. */
const retryAtMs = new Map<number, number>();
/** Since when a database cannot be written to; infinity once this was reported. */
const obstructedSinceMs = new Map<number, number>();
let stopping = false;
let timer: NodeJS.Timeout | undefined;

function send(message: FromWriter): void {
	owner.postMessage(message);
}

function take(message: ToWriter): void {
	if (message === 'stop') {
		stopping = true;
		return;
	}
	for (const work of message) {
		const arrived = { ...work, cells };
		queues.getOrInsertComputed(work.databaseId, () => []).push(arrived);
	}
}

/** Receives new requests without returning to the event loop. */
function takeWaiting(): void {
	for (let next = receiveMessageOnPort(owner); next; next = receiveMessageOnPort(owner)) take(next.message);
}

/** The next database in turn. */
function nextDatabase(nowMs: number): number | undefined {
	return queues.keys().find((databaseId) => (retryAtMs.get(databaseId) ?? 0) <= nowMs);
}

function runGroup(databaseId: number): void {
	if (turns.isOthers(databaseId, pool.path(databaseId))) {
		retryAtMs.set(databaseId, monotonicMs() + locked.retryMs);
		return;
	}
	const { live, dropped } = dropExpired(queues.get(databaseId) ?? []);
	queues.delete(databaseId);
	const first = live.slice(0, groupLimit);
	const startedAtMs = monotonicMs();
	const outcome = first.length > 0 ? commit(databaseId, first) : [];
	const endedAtMs = monotonicMs();
	// At the end of the map, so that databases take turns.
	const rest = 'reason' in outcome ? live : live.slice(groupLimit);
	if (rest.length > 0) queues.set(databaseId, rest);
	if ('reason' in outcome) retryLater(databaseId, outcome, endedAtMs);
	else {
		retryAtMs.delete(databaseId);
		obstructedSinceMs.delete(databaseId);
	}
	const results = [...dropped.map(expired), ...('reason' in outcome ? [] : outcome)];
	const group = { size: results.length, seconds: (endedAtMs - startedAtMs) / 1000 };
	send({ type: 'results', databaseId, results, group });
	examineLogs();
}

/** Reports an obstacle that stays, once. */
function retryLater(databaseId: number, { reason, retryMs }: Obstacle, nowMs: number): void {
	retryAtMs.set(databaseId, nowMs + retryMs);
	const sinceMs = obstructedSinceMs.get(databaseId) ?? nowMs;
	if (nowMs - sinceMs < reportAfterMs) obstructedSinceMs.set(databaseId, sinceMs);
	else if (sinceMs !== Number.POSITIVE_INFINITY) {
		obstructedSinceMs.set(databaseId, Number.POSITIVE_INFINITY);
		send({ type: 'error', databaseId, reason });
	}
}

function commit(databaseId: number, group: readonly ArrivedWork[]): WorkResult[] | Obstacle {
	for (const failure of checkpointer.takeFailures()) markFailed(failure.databaseId, failure.reason);
	let connection: Connection;
	try {
		connection = pool.get(databaseId);
	} catch (error) {
		if (isBusy(error)) return locked;
		const sinceMs = obstructedSinceMs.get(databaseId) ?? Number.POSITIVE_INFINITY;
		const isLong = monotonicMs() - sinceMs >= reportAfterMs;
		if (error instanceof NoFileHandlesError && !isLong) return noHandles;
		const reason = reasonOf(error);
		send({ type: 'error', databaseId, reason });
		return group.map((work) => ({ slot: work.slot, outcome: 'failed', reason, isIoError: isIoError(error) }));
	}
	const results = commitGroup(connection, group);
	if (results === 'busy') return locked;
	const failures = results.filter((result) => 'reason' in result);
	const ioFailure = failures.find((result) => result.isIoError);
	if (ioFailure) {
		markFailed(databaseId, ioFailure.reason);
		return settle(databaseId, results);
	}
	const [failure] = failures;
	if (failure) {
		send({ type: 'error', databaseId, reason: failure.reason });
		// After an error, the next group gets a fresh connection.
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

/** The commit is durable. If its log cannot be copied, the database is not written to any more. */
function afterCommit(databaseId: number, connection: Connection): void {
	try {
		checkpointer.afterCommit(databaseId, pool.path(databaseId), connection, monotonicMs());
		turns.afterCommit(databaseId, pool.path(databaseId));
	} catch (error) {
		if (isIoError(error)) markFailed(databaseId, reasonOf(error));
		else send({ type: 'error', databaseId, reason: reasonOf(error) });
	}
}

function markFailed(databaseId: number, reason: string): void {
	send({ type: 'error', databaseId, reason });
	pool.markFailed(databaseId);
}

/** If the log can be restarted at once, nothing is left of the failed COMMIT, so its outcome is known. */
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
	if (queues.size > 0) timer = setTimeout(work, locked.retryMs);
	else if (stopping) void stop();
}

const sweep = setInterval(() => {
	pool.closeGone((databaseId, error) => send({ type: 'error', databaseId, reason: reasonOf(error) }));
	examineLogs();
}, goneEveryMs).unref();

let logsExaminedAtMs = 0;

/** Called by a busy writer, too, which never returns to its event loop. */
function examineLogs(): void {
	const nowMs = monotonicMs();
	if (nowMs - logsExaminedAtMs < logsEveryMs) return;
	logsExaminedAtMs = nowMs;
	send({ type: 'logs', logs: checkpointer.examine(pool.openPaths(), nowMs) });
}

async function stop(): Promise<void> {
	clearInterval(sweep);
	await checkpointer.stop();
	pool.closeAll();
	owner.close();
}

collectGarbage();
owner.on('message', (message: ToWriter) => {
	take(message);
	work();
});
send({ type: 'ready' });
