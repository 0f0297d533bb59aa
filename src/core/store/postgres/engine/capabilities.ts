import type pg from 'pg';
import { UnavailableError } from '../../../errors.ts';

/** A connection, or a pool of them. */
export interface Queryable {
	query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
}

/** What servers differ in. Each new connection asks once. */
export interface Capabilities {
	/**
	 * Whether a transaction may write to several accounts. On Citus they may be on several nodes: a two-phase commit
	 * again.
	 */
	readonly canSpanSchemas: boolean;
	/**
	 * Whether all who write to an account do so on this server. On Citus they may ask any node, and locks and sequences count
	 * only on the node that uses them.
	 */
	readonly isOnlyNode: boolean;
}

export async function isOnCluster(asked: Queryable): Promise<boolean> {
	const { rowCount } = await asked.query(
		"SELECT 1 FROM pg_extension WHERE extname = 'citus' /* capabilities */",
	);
	return rowCount !== 0;
}

const known = new WeakMap<pg.ClientBase, Capabilities>();

/** @throws UnavailableError where the server takes no writes: after a failover, reads from it would stay those of before */
export async function learnCapabilities(client: pg.ClientBase): Promise<Capabilities> {
	const [onCluster, { rows }] = await Promise.all([
		isOnCluster(client),
		client.query('SELECT pg_is_in_recovery() AS standby /* capabilities */'),
	]);
	if (rows[0].standby) throw new UnavailableError('it is a standby, where nothing can be stored');
	const capabilities = { canSpanSchemas: !onCluster, isOnlyNode: !onCluster };
	known.set(client, capabilities);
	return capabilities;
}

export function capabilitiesOf(client: pg.ClientBase): Capabilities {
	const capabilities = known.get(client);
	if (!capabilities) throw new Error('a connection that was not asked what it can do');
	return capabilities;
}
