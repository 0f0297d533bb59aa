import type pg from 'pg';
import { StorageError } from '../../../errors.ts';
import type { ControlDatabase } from '../../control/control-tables.ts';
import type { AnySteps } from '../../steps.ts';
import {
	commitTransaction,
	isConnectionLost,
	isOwnError,
	type PostgresPool,
	storageError,
} from './postgres-connection.ts';
import { beginReading, beginSteps, runSteps } from './postgres-run-steps.ts';

/** The control schema. @throws UnavailableError where a connection is lost, or there is none */
export function controlDatabase(pool: PostgresPool, schema: string): ControlDatabase {
	const tables = { schema };
	/** @param fn releases the connection where it succeeds */
	const on = async <T>(fn: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
		const client = await answered(pool.connect());
		try {
			return await fn(client);
		} catch (error) {
			// A server that is silent would not answer this either.
			const ended = error instanceof StorageError ? Promise.reject(error) : client.query('ROLLBACK');
			await ended.then(
				() => client.release(),
				() => client.release(true),
			);
			throw error;
		}
	};
	/** A statement by itself is a transaction by itself, and takes one round trip. */
	const runAlone = <T>(statement: AnySteps<T>): Promise<T> =>
		on(async (client) => {
			const outcome = await answered(runSteps(client, tables, statement[Symbol.iterator]()));
			client.release();
			return outcome;
		});
	const transact: ControlDatabase['transact'] = (fn) =>
		on(async (client) => {
			await answered(client.query('BEGIN'));
			const outcome = await fn((steps) => answered(runSteps(client, tables, steps[Symbol.iterator]())));
			await answered(commitTransaction(client));
			client.release();
			return outcome;
		});
	return {
		read: (reading) => {
			if (isStatement(reading)) return runAlone(reading);
			return on(async (client) => {
				const begun = { begin: beginReading, steps: reading[Symbol.iterator]() };
				const outcome = await answered(beginSteps(client, tables, begun));
				// What was read is known before the COMMIT is answered.
				commitTransaction(client).then(
					() => client.release(),
					() => client.release(true),
				);
				return outcome;
			});
		},

		write: (steps) => (isStatement(steps) ? runAlone(steps) : transact((run) => run(steps))),

		transact,
	};
}

function isStatement(steps: AnySteps<unknown>): boolean {
	return 'sql' in steps;
}

async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
	try {
		return await asked;
	} catch (error) {
		// What an operator must do is said as it is.
		throw isConnectionLost(error) && !isOwnError(error) ? storageError(error) : error;
	}
}
