import type pg from 'pg';
import { OperatorError } from '../../../errors.ts';
import { shownAddress } from '../../own-database.ts';
import { Citus } from './citus.ts';
import type { PostgresPool } from './postgres-connection.ts';

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
			`The database at ${shownAddress(address)} has the encoding ${encoding}, and Caskade needs UTF8: make one with CREATE DATABASE … ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0.`,
		);
}

/**
 * Checks that a database can be an account's own.
 * @throws OperatorError
 */
export async function checkOwnServer(pool: PostgresPool, address: string): Promise<void> {
	await checkEncoding(pool, address);
	const citus = await Citus.of(pool);
	if (await citus?.coordinatorOfWorker())
		throw new OperatorError(
			`The database at ${shownAddress(address)} is on a worker of a Citus cluster, where only the coordinator decides what is stored: name a server outside the cluster, or name none and move the account with citus_schema_move.`,
		);
}

/**
 * Checks that the database of the control schema is not a worker's, which has accounts but cannot place any.
 * @throws OperatorError
 */
export async function checkCoordinator(pool: PostgresPool, address: string): Promise<void> {
	const coordinator = await (await Citus.of(pool))?.coordinatorOfWorker();
	if (coordinator !== undefined)
		throw new OperatorError(
			`${shownAddress(address)} is a worker of a cluster whose coordinator is ${coordinator}: name that one.`,
		);
}

/**
 * Checks that a connection keeps its session: a pooler in transaction mode gives each transaction another one, without the
 * settings, locks and prepared statements of the connection.
 * @throws OperatorError
 */
export async function checkSessions(pool: PostgresPool, address: string): Promise<void> {
	const clients = await Promise.all([pool.connect(), pool.connect()]);
	const [one, other] = clients as [pg.PoolClient, pg.PoolClient];
	const session = async (client: pg.PoolClient) =>
		(await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
	try {
		const before = await session(one);
		await other.query('BEGIN');
		// The other's transaction occupies a session. Where it is that of the first, or the first has got another, they are shared.
		const isShared = (await session(other)) === before || (await session(one)) !== before;
		await other.query('COMMIT');
		if (isShared)
			throw new OperatorError(
				`A pooler in transaction mode is in front of the database at ${shownAddress(address)}, and Caskade needs sessions: set pool_mode = session for this database, or name the PostgreSQL server itself.`,
			);
	} finally {
		for (const client of clients) client.release();
	}
}
