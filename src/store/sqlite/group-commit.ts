import { monotonicMs } from '../../clock.ts';
import { reasonOf } from '../../errors.ts';
import {
	type ClientCommands,
	type CommandResult,
	type ControlCommands,
	clientCommands,
	controlCommands,
} from './commands.ts';
import { type Connection, isBusy, isIoError } from './connection.ts';
import { type CommandName, cell, type Work, type WorkResult } from './messages.ts';

type AnyCommand = (connection: Connection, input: never) => CommandResult<unknown>;

const commands: Record<CommandName, AnyCommand> = {
	...clientCommands,
	...controlCommands,
} satisfies ClientCommands & ControlCommands;

/**
 * Runs a group of requests in one transaction, with a savepoint for each: every request is all-or-nothing, and they
 * share one fsync.
 *
 * Whether a request is committed or expires is decided once, in its shared cell: here before COMMIT, or by the server's
 * timer. The write lock is taken first, so that no decided request waits for another process.
 * @returns the results; `busy` if another process holds the write lock, and then nothing has happened
 */
export function commitGroup(
	connection: Connection,
	group: readonly Work[],
	cells: Int32Array,
): WorkResult[] | 'busy' {
	const { database } = connection;
	try {
		connection.statement('BEGIN IMMEDIATE').run();
	} catch (error) {
		if (isBusy(error)) return 'busy';
		return group.map((work) => failed(work, error));
	}
	let outcome: 'failed' | 'unknown' = 'failed';
	try {
		const results = group.map((work) => runInSavepoint(connection, work, cells));
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
		return group.map((work) =>
			Atomics.load(cells, work.slot) === cell.expired ? expired(work) : failed(work, error, outcome),
		);
	}
}

function runInSavepoint(connection: Connection, work: Work, cells: Int32Array): WorkResult {
	if (work.deadlineMs <= monotonicMs()) Atomics.compareExchange(cells, work.slot, cell.waiting, cell.expired);
	if (Atomics.load(cells, work.slot) === cell.expired) return expired(work);
	connection.statement('SAVEPOINT request').run();
	let result: WorkResult;
	let keep = false;
	try {
		const done = commands[work.command](connection, work.input as never);
		const decided =
			work.deadlineMs > monotonicMs() &&
			Atomics.compareExchange(cells, work.slot, cell.waiting, cell.committing) === cell.waiting;
		if (!decided) Atomics.store(cells, work.slot, cell.expired);
		keep = decided && done.keep;
		result = decided ? { slot: work.slot, outcome: 'committed', value: done.value } : expired(work);
	} catch (error) {
		// Some failures, such as a full disk, end the whole transaction. Then the whole group has failed.
		if (!connection.database.isTransaction) throw error;
		result = failed(work, error);
	}
	if (!keep) connection.statement('ROLLBACK TO request').run();
	connection.statement('RELEASE request').run();
	return result;
}

function expired(work: Work): WorkResult {
	return { slot: work.slot, outcome: 'expired' };
}

/** SQLite's texts are safe to log, but may name tables. Answers contain only the kind of the error. */
function failed(work: Work, error: unknown, outcome: 'failed' | 'unknown' = 'failed'): WorkResult {
	return { slot: work.slot, outcome, reason: reasonOf(error), isIoError: isIoError(error) };
}

/** Separates the requests that have expired, which need no lock. */
export function dropExpired(queue: Work[], cells: Int32Array): { live: Work[]; results: WorkResult[] } {
	const live: Work[] = [];
	const results: WorkResult[] = [];
	const nowMs = monotonicMs();
	for (const work of queue) {
		if (work.deadlineMs <= nowMs) Atomics.compareExchange(cells, work.slot, cell.waiting, cell.expired);
		if (Atomics.load(cells, work.slot) === cell.expired) results.push(expired(work));
		else live.push(work);
	}
	return { live, results };
}
