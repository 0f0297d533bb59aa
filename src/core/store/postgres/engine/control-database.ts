import type pg from 'pg';
import { StorageError } from '../../../errors.ts';
import type { ControlDatabase } from '../../control/tables.ts';
import {
	commitTransaction,
	isConnectionLost,
	isOwnError,
	type PostgresPool,
	storageError,
} from './connection.ts';
import { beginReading, beginSteps, runSteps } from './run-steps.ts';

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
	return {
		read: (reading) =>
			on(async (client) => {
				const begun = { begin: beginReading, steps: reading[Symbol.iterator]() };
				const outcome = await answered(beginSteps(client, tables, begun));
				// What was read is known before the COMMIT is answered.
				commitTransaction(client).then(
					() => client.release(),
					() => client.release(true),
				);
				return outcome;
			}),

		transact: (fn) =>
			on(async (client) => {
				await answered(client.query('BEGIN'));
				const outcome = await fn((steps) => answered(runSteps(client, tables, steps[Symbol.iterator]())));
				await answered(commitTransaction(client));
				client.release();
				return outcome;
			}),
	};
}

async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
	try {
		return await asked;
	} catch (error) {
		// What an operator must do is said as it is.
		throw isConnectionLost(error) && !isOwnError(error) ? storageError(error) : error;
	}
}
