import { OperatorError } from '../../../errors.ts';
import { shownAddress } from '../../own-database.ts';
import { Citus } from './citus.ts';
import type { PostgresPool } from './connection.ts';

/**
 * Checks that a database is encoded in UTF-8. Any other encoding rejects some of what clients send, or counts and
 * compares it by bytes.
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
 * Checks that a database can be an account's own.
 * @throws OperatorError
 */
export async function checkOwnServer(pool: PostgresPool, address: string): Promise<void> {
	await checkEncoding(pool, address);
	const citus = await Citus.of(pool);
	if (await citus?.isWorker())
		throw new OperatorError(
			`The database at ${shownAddress(address)} is on a worker of a Citus cluster, where only the coordinator decides what is stored: name a server outside the cluster, or name none and move the account with citus_schema_move.`,
		);
}
