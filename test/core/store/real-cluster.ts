import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { allTests } from '../../at-end.ts';
import type { Engine } from './engines.ts';

/** The address of a superuser's database on the coordinator of a Citus cluster that tests may use. */
const coordinator = process.env.CASKADE_TEST_CLUSTER;

/** For the `skip` of a test that needs a real cluster. */
export const withoutCluster =
	coordinator === undefined &&
	'CASKADE_TEST_CLUSTER names no database on the coordinator of a Citus cluster to test with';

interface Node {
	readonly name: string;
	readonly port: number;
	readonly group: number;
}

async function on<T>(address: string, ask: (session: pg.Client) => Promise<T>): Promise<T> {
	const session = new pg.Client({ connectionString: address });
	await session.connect();
	try {
		return await ask(session);
	} finally {
		await session.end();
	}
}

const addressOf = ({ name, port }: Node, database: string) => {
	const address = new URL(String(coordinator));
	address.hostname = name;
	address.port = String(port);
	address.pathname = `/${database}`;
	return address.href;
};

const nodesOf = (address: string) =>
	on(address, async (session) => {
		const { rows } = await session.query<Node>(
			'SELECT nodename AS name, nodeport AS port, groupid AS "group" FROM pg_dist_node ORDER BY groupid',
		);
		return rows;
	});

/** An account that is in use moves by logical replication. */
async function requireLogical(nodes: readonly Node[]): Promise<void> {
	const { pathname } = new URL(String(coordinator));
	for (const node of nodes) {
		const level = await on(
			addressOf(node, pathname.slice(1)),
			async (session) => (await session.query('SHOW wal_level')).rows[0].wal_level,
		);
		if (level !== 'logical')
			throw new Error(
				`wal_level is ${level} at ${node.name}:${node.port}; accounts that are in use move only where it is logical`,
			);
	}
}

/** Makes a database on every node. It is removed when all tests are over. @returns its address on the coordinator */
export async function freshClusterDatabase(): Promise<string> {
	const nodes = await nodesOf(String(coordinator)).catch((error) => {
		throw new Error(
			`CASKADE_TEST_CLUSTER must name a database with the Citus extension and its nodes: ${error.message}`,
		);
	});
	await requireLogical(nodes);
	const database = `caskade_test_${randomBytes(6).toString('hex')}`;
	allTests.after(async () => {
		for (const node of nodes)
			await on(addressOf(node, 'postgres'), (session) =>
				session.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`),
			);
	});
	for (const node of nodes) {
		await on(addressOf(node, 'postgres'), (session) =>
			session.query(`CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`),
		);
		await on(addressOf(node, database), async (session) => {
			await session.query('CREATE EXTENSION citus');
			await session.query(`ALTER DATABASE ${database} SET synchronous_commit TO on`);
			await session.query(`ALTER DATABASE ${database} SET enable_bitmapscan TO off`);
		});
	}
	const [first, ...workers] = nodes as [Node, ...Node[]];
	const address = addressOf(first, database);
	await on(address, async (session) => {
		await session.query('SELECT citus_set_coordinator_host($1, $2)', [first.name, first.port]);
		for (const { name, port } of workers) await session.query('SELECT citus_add_node($1, $2)', [name, port]);
		await session.query(`ALTER DATABASE ${database} SET citus.enable_schema_based_sharding TO on`);
	});
	return address;
}

/** Addresses of the nodes that a database's accounts may lie on, without the coordinator, and how to move one there. */
export async function workersOf(address: string) {
	const database = new URL(address).pathname.slice(1);
	const nodes = (await nodesOf(address)).filter(({ group }) => group !== 0);
	return nodes.map((node) => ({
		address: addressOf(node, database),
		move: (accountId: number) =>
			on(address, async (session) => {
				// What the last move has left, if nobody reads it any more.
				await session.query('CALL citus_cleanup_orphaned_resources()');
				await session.query('SELECT citus_schema_move($1, $2, $3)', [
					`caskade_account_${accountId}`,
					node.name,
					node.port,
				]);
			}),
	}));
}

export const clusterEngine: Engine = {
	name: 'a cluster',
	freshAddress: () => freshClusterDatabase(),
	installedAddress: () => freshClusterDatabase(),
	isFolder: false,
};
