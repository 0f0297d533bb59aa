import type pg from 'pg';

/** What servers differ in. Each new connection asks once. */
export interface Capabilities {
	/**
	 * Whether rows may be written from arrays. On Citus `INSERT … SELECT FROM unnest()` becomes a two-phase commit, even in
	 * one schema; `VALUES` with a parameter for each value does not.
	 */
	readonly canUnnest: boolean;
	/**
	 * Whether statements may stay prepared with a generic plan. Citus must see the values of `VALUES` to know where
	 * rows go, and their number differs from one statement to the next.
	 */
	readonly canPrepare: boolean;
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

const known = new WeakMap<pg.ClientBase, Capabilities>();

export async function learnCapabilities(client: pg.ClientBase): Promise<Capabilities> {
	const { rows } = await client.query(
		"SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus /* capabilities */",
	);
	const isPlain = rows[0]?.citus !== true;
	const capabilities = {
		canUnnest: isPlain,
		canPrepare: isPlain,
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
