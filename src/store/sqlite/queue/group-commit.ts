import { monotonicMs } from '../../../clock.ts';
import { reasonOf } from '../../../errors.ts';
import { type Connection, isBusy, isIoError } from '../engine/connection.ts';
import { runSteps } from '../engine/run-steps.ts';
import { commands, type PackedUpload } from './commands.ts';
import { cell, type Work, type WorkResult } from './messages.ts';

/** With the memory that the thread it came from shares. */
export interface ArrivedWork extends Work {
	readonly cells: Int32Array;
}

/**
 * Runs a group of requests in one transaction, with a savepoint for each: every request is all-or-nothing, and they
 * share one fsync.
 *
 * The deadline's decision is taken once, in the request's shared cell: here on the way to COMMIT, or by the
 * server's timer. The lock is taken first, so that nothing that has been decided waits for another process.
 * @returns the results in the group's order, or `busy` where another process holds the write lock; then nothing has happened
 */
export function commitGroup(connection: Connection, group: readonly ArrivedWork[]): WorkResult[] | 'busy' {
	const { database } = connection;
	try {
		connection.statement('BEGIN IMMEDIATE').run();
	} catch (error) {
		if (isBusy(error)) return 'busy';
		return group.map((work) => failed(work, error));
	}
	let outcome: 'failed' | 'unknown' = 'failed';
	try {
		const results = group.map((work) => runInSavepoint(connection, work));
		try {
			connection.statement('COMMIT').run();
		} catch (error) {
			// The pages and the commit's mark may all be written, so that the transaction is stored although the sync
			// failed.
			if (isIoError(error)) outcome = 'unknown';
			throw error;
		}
		return results;
	} catch (error) {
		if (database.isTransaction) database.exec('ROLLBACK');
		return group.map((work) => (isExpired(work) ? expired(work) : failed(work, error, outcome)));
	}
}

function runInSavepoint(connection: Connection, work: ArrivedWork): WorkResult {
	if (isExpiredBy(work, monotonicMs())) return expired(work);
	connection.statement('SAVEPOINT request').run();
	let result: WorkResult;
	let keep = false;
	try {
		const value = runSteps<unknown>(connection, commands[work.command](work.input as never, connection));
		const decided =
			work.deadlineMs > monotonicMs() &&
			Atomics.compareExchange(work.cells, work.slot, cell.waiting, cell.committing) === cell.waiting;
		if (!decided) Atomics.store(work.cells, work.slot, cell.expired);
		const isSimulated = (work.input as Partial<PackedUpload> | null)?.simulate;
		keep = decided && !isSimulated;
		result = decided ? { slot: work.slot, outcome: 'committed', value } : expired(work);
	} catch (error) {
		// Some failures, such as a full disk, end the whole transaction. Then the whole group has failed.
		if (!connection.database.isTransaction) throw error;
		result = failed(work, error);
	}
	if (!keep) connection.statement('ROLLBACK TO request').run();
	connection.statement('RELEASE request').run();
	return result;
}

function isExpiredBy(work: ArrivedWork, nowMs: number): boolean {
	if (work.deadlineMs <= nowMs) Atomics.compareExchange(work.cells, work.slot, cell.waiting, cell.expired);
	return isExpired(work);
}

function isExpired(work: ArrivedWork): boolean {
	return Atomics.load(work.cells, work.slot) === cell.expired;
}

export function expired(work: Work): WorkResult {
	return { slot: work.slot, outcome: 'expired' };
}

/** SQLite's texts are safe to log, but may name tables. Answers contain only the kind of the error. */
function failed(work: Work, error: unknown, outcome: 'failed' | 'unknown' = 'failed'): WorkResult {
	return { slot: work.slot, outcome, reason: reasonOf(error), isIoError: isIoError(error) };
}

/** Separates the requests that have expired, which need no lock. */
export function dropExpired<Arrived extends ArrivedWork>(
	queue: readonly Arrived[],
): { live: Arrived[]; dropped: Arrived[] } {
	const live: Arrived[] = [];
	const dropped: Arrived[] = [];
	const nowMs = monotonicMs();
	for (const work of queue) {
		if (isExpiredBy(work, nowMs)) dropped.push(work);
		else live.push(work);
	}
	return { live, dropped };
}
