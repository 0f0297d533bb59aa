import type { DatabaseSync } from 'node:sqlite';
import type { ControlDatabase, RunSteps } from '../../control/control-tables.ts';
import { Connection } from './sqlite-connection.ts';
import { runSteps } from './sqlite-run-steps.ts';

/** The control database of a data folder. It has one connection, so transactions take turns. */
export function controlDatabase(database: DatabaseSync): ControlDatabase {
	const connection = new Connection(database);
	const run: RunSteps = async (steps) => runSteps(connection, steps[Symbol.iterator]());
	let last: Promise<unknown> = Promise.resolve();
	const transact = <T>(begin: string, fn: (run: RunSteps) => Promise<T>): Promise<T> => {
		const outcome = last.then(async () => {
			database.exec(begin);
			try {
				const outcome = await fn(run);
				database.exec('COMMIT');
				return outcome;
			} catch (error) {
				// A failed COMMIT may have ended the transaction.
				if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
				throw error;
			}
		});
		last = outcome.catch(() => {});
		return outcome;
	};
	return {
		read: (reading) => transact('BEGIN', (run) => run(reading)),
		write: (steps) => transact('BEGIN IMMEDIATE', (run) => run(steps)),
		transact: (fn) => transact('BEGIN IMMEDIATE', fn),
	};
}
