import { monotonicMs } from '../../../clock.ts';
import { reasonOf } from '../../../errors.ts';
import { type Connection, isBusy, isIoError } from '../engine/sqlite-connection.ts';
import { runSteps } from '../engine/sqlite-run-steps.ts';
import { commands, type PackedUpload } from './commands.ts';
import { cell, type Work, type WorkResult } from './messages.ts';

/** With the memory that the thread it came from shares. */
export interface ArrivedWork extends Work {
	readonly cells: Int32Array;
}

/**
 * Runs a group of requests in one transaction, so that they share one fsync. Every request is all-or-nothing: where one fails or
 * expires after it has begun, the group runs again with a savepoint for each.
 *
 * The deadline's decision is taken once, in the request's shared cell: here on the way to COMMIT, or by the
 * server's timer. The lock is taken first, so that nothing that has been decided waits for another process.
 * @returns the results in the group's order, or `busy` where another process holds the write lock; then nothing has happened
 */
export function commitGroup(connection: Connection, group: readonly ArrivedWork[]): WorkResult[] | 'busy' {
	const { database } = connection;
	let outcome: 'failed' | 'unknown' = 'failed';
	let begins = true;
	try {
		connection.statement('BEGIN IMMEDIATE').run();
		begins = false;
		let results = runTogether(connection, group);
		if (!results) {
			begins = true;
			database.exec('ROLLBACK');
			connection.statement('BEGIN IMMEDIATE').run();
			begins = false;
			results = group.map((work) => runInSavepoint(connection, work));
		}
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
		if (begins && isBusy(error)) return 'busy';
		if (database.isTransaction) database.exec('ROLLBACK');
		return group.map((work) => (isExpired(work) ? expired(work) : failed(work, error, outcome)));
	}
}

/**
 * Runs requests without savepoints. SQLite would copy each page that one of them changes, which takes a third of the time that
 * storing an upload takes.
 * @returns undefined where one has failed or expired after it had begun: then nothing is decided, and all of it must be undone
 */
function runTogether(connection: Connection, group: readonly ArrivedWork[]): WorkResult[] | undefined {
	const results: WorkResult[] = [];
	const undecided = () => {
		for (const { cells, slot } of group) Atomics.compareExchange(cells, slot, cell.committing, cell.waiting);
		return undefined;
	};
	try {
		for (const work of group) {
			if (isSimulated(work)) {
				results.push(runInSavepoint(connection, work));
				continue;
			}
			if (isExpiredBy(work, monotonicMs())) {
				results.push(expired(work));
				continue;
			}
			results.push(committed(work, runCommand(connection, work)));
			if (!decide(work)) return undecided();
		}
		return results;
	} catch (error) {
		// Some failures, such as a full disk, end the whole transaction. Then the whole group has failed.
		if (!connection.database.isTransaction || isIoError(error)) throw error;
		return undecided();
	}
}

function runInSavepoint(connection: Connection, work: ArrivedWork): WorkResult {
	if (isExpiredBy(work, monotonicMs())) return expired(work);
	connection.statement('SAVEPOINT request').run();
	let result: WorkResult;
	let keep = false;
	try {
		const value = runCommand(connection, work);
		const isDecided = decide(work);
		keep = isDecided && !isSimulated(work);
		result = isDecided ? committed(work, value) : expired(work);
	} catch (error) {
		if (!connection.database.isTransaction) throw error;
		result = failed(work, error);
	}
	if (!keep) connection.statement('ROLLBACK TO request').run();
	connection.statement('RELEASE request').run();
	return result;
}

function runCommand(connection: Connection, { command, input }: Work): unknown {
	return runSteps<unknown>(connection, commands[command](input as never, connection));
}

function isSimulated({ input }: Work): boolean {
	return (input as Partial<PackedUpload> | null)?.simulate === true;
}

/** Whether the work is to be committed, and not expired. */
function decide({ deadlineMs, cells, slot }: ArrivedWork): boolean {
	const isDecided =
		deadlineMs > monotonicMs() &&
		Atomics.compareExchange(cells, slot, cell.waiting, cell.committing) === cell.waiting;
	if (!isDecided) Atomics.store(cells, slot, cell.expired);
	return isDecided;
}

function isExpiredBy(work: ArrivedWork, nowMs: number): boolean {
	if (work.deadlineMs <= nowMs) Atomics.compareExchange(work.cells, work.slot, cell.waiting, cell.expired);
	return isExpired(work);
}

function isExpired(work: ArrivedWork): boolean {
	return Atomics.load(work.cells, work.slot) === cell.expired;
}

function committed({ slot }: Work, value: unknown): WorkResult {
	return { slot, outcome: 'committed', value };
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
