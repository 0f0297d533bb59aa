import { OperatorError } from '../../../errors.ts';
import { shownAddress } from '../../own-database.ts';
import type { PostgresPool } from './postgres-connection.ts';

/** Connections of a pool. Fewer than two would wait for each other. More earn something only where requests wait. */
export const [leastPerPool, mostPerPool] = [2, 4];
/** A serving process' pools for uploads, for hits and for reads. */
const requestPools = 3;
/** Its pools for settings, for limits and for maintenance, and those of its background work: settings, reads, maintenance. */
const otherPools = 6;
/** What `--connections` may be. */
const connectionsOfServer = {
	least: leastPerPool * (requestPools + otherPools),
	most: mostPerPool * requestPools + leastPerPool * otherPools,
};

export interface ConnectionBudget {
	/** How many connections a serving process may open; by default as many as are useful and allowed. */
	readonly connections?: number | undefined;
	/** Refuse a server that allows too few to serve. */
	readonly serves?: boolean | undefined;
}

/**
 * How many connections each pool for requests may open, so that none of them keeps the others from connecting.
 * @throws OperatorError where they do not suffice for a serving process
 */
export async function connectionsForRequests(
	pool: PostgresPool,
	address: string,
	{ connections = connectionsOfServer.most }: ConnectionBudget,
): Promise<number> {
	const { what, most, used } = await scarcest(pool);
	const free = Math.min(connections, most - used);
	if (free < connectionsOfServer.least)
		throw new OperatorError(
			`A server needs ${connectionsOfServer.least} connections to the database at ${shownAddress(address)}, and ${what} allows ${most}, of which ${used} are in use: raise it to at least ${used + connectionsOfServer.least}, ${used + connectionsOfServer.most} for full speed.`,
		);
	return Math.min(mostPerPool, Math.floor((free - leastPerPool * otherPools) / requestPools));
}

interface Limit {
	readonly what: string;
	readonly most: number;
	/** By others than this process. */
	readonly used: number;
}

/** The limit that leaves the fewest connections. The limits of roles and databases do not hold for superusers. */
async function scarcest(pool: PostgresPool): Promise<Limit> {
	const { rows } = await pool.query(
		`SELECT session_user AS role, rolsuper AS super, rolconnlimit AS of_role, datname AS database, datconnlimit AS of_database,
			current_setting('max_connections')::int AS max, current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
			(SELECT count(*) FROM pg_stat_activity WHERE usename = session_user) AS used_by_role,
			(SELECT count(*) FROM pg_stat_activity AS activity WHERE activity.datname = current_database()) AS used_of_database,
			(SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL) AS used
		 FROM pg_roles, pg_database WHERE rolname = session_user AND datname = current_database() /* connections */`,
	);
	const { role, super: isSuper, database, ...found } = rows[0];
	const limits: Limit[] = [
		{
			what: 'max_connections, less the reserved,',
			most: found.max - (isSuper ? 0 : found.reserved),
			used: found.used,
		},
	];
	const add = (what: string, most: number, used: number) => {
		if (most >= 0 && !isSuper) limits.push({ what, most, used });
	};
	add(`the CONNECTION LIMIT of the role ${role}`, found.of_role, found.used_by_role);
	add(`the CONNECTION LIMIT of the database ${database}`, found.of_database, found.used_of_database);
	const [least] = limits
		.map((limit) => ({ ...limit, used: Math.max(0, limit.used - pool.totalCount) }))
		.sort((a, b) => a.most - a.used - (b.most - b.used));
	return least as Limit;
}
