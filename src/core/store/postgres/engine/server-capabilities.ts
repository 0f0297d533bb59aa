import type pg from 'pg';
import { UnavailableError } from '../../../errors.ts';

/** A connection, or a pool of them. */
export interface Queryable {
	query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
}

export async function isOnCluster(asked: Queryable): Promise<boolean> {
	const { rowCount } = await asked.query(
		"SELECT 1 FROM pg_extension WHERE extname = 'citus' /* capabilities */",
	);
	return rowCount !== 0;
}

const known = new WeakMap<pg.ClientBase, boolean>();

/**
 * Asks the server of a new connection what it is.
 * @returns whether all who write to an account do so on this server. On Citus they may ask any node, and locks and sequences count only on
 * the node that uses them; accounts may be on several nodes, so that a transaction of two would be a two-phase commit
 * @throws UnavailableError where it takes no writes: after a failover, reads from it would stay those of before
 */
export async function learnServer(client: pg.ClientBase): Promise<boolean> {
	const [onCluster, { rows }] = await Promise.all([
		isOnCluster(client),
		client.query('SELECT pg_is_in_recovery() AS standby /* capabilities */'),
	]);
	if (rows[0].standby) throw new UnavailableError('it is a standby, where nothing can be stored');
	known.set(client, !onCluster);
	return !onCluster;
}

/** See `learnServer`. */
export function isOnlyNode(client: pg.ClientBase): boolean {
	const answer = known.get(client);
	if (answer === undefined) throw new Error('a connection whose server was not asked what it is');
	return answer;
}
