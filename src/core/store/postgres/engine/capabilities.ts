import type pg from 'pg';

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

export async function learnCapabilities(client: pg.ClientBase): Promise<Capabilities> {
	const isPlain = !(await isOnCluster(client));
	const capabilities = {
		canSpanSchemas: isPlain,
		isOnlyNode: isPlain,
	};
	known.set(client, capabilities);
	return capabilities;
}

export function capabilitiesOf(client: pg.ClientBase): Capabilities {
	const capabilities = known.get(client);
	if (!capabilities) throw new Error('a connection that was not asked what it can do');
	return capabilities;
}
