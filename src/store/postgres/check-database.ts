import { OperatorError } from '../../errors.ts';
import { shownAddress } from '../own-database.ts';
import { Citus } from './citus.ts';
import type { PostgresPool } from './connection.ts';

/**
 * Whether a database can hold what clients send. What it stores in another encoding is refused by it, or counted and
 * compared by bytes that it does not understand.
 * @throws OperatorError
 */
export async function checkEncoding(pool: PostgresPool, address: string): Promise<void> {
	const { rows } = await pool.query<{ server_encoding: string }>('SHOW server_encoding');
	const encoding = rows[0]?.server_encoding;
	if (encoding !== 'UTF8')
		throw new OperatorError(
			`The database at ${shownAddress(address)} has the encoding ${encoding}, and Caskade needs UTF8: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
		);
}

/**
 * Whether a database can be that of one account.
 * @throws OperatorError
 */
export async function checkOwnServer(pool: PostgresPool, address: string): Promise<void> {
	await checkEncoding(pool, address);
	const citus = await Citus.of(pool);
	if (await citus?.isWorker())
		throw new OperatorError(
			`The database at ${shownAddress(address)} is on a worker of a Citus cluster, and its coordinator alone decides what lies there: name a server outside of the cluster, or none and move the account with citus_schema_move.`,
		);
}
