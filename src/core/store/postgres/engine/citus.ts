import { OperatorError } from '../../../errors.ts';
import type { Check } from '../../maintenance.ts';
import { aboutChangedCollations } from './collations.ts';
import type { PostgresPool } from './postgres-connection.ts';

/**
 * Values of `synchronous_commit` with which a COMMIT is on disk, here and on synchronous standbys, before it is
 * answered.
 */
const durable: ReadonlySet<string> = new Set(['on', 'remote_apply']);
/** The coordinator's own timeout for a lost worker is much longer. */
const askWorkersMs = 2000;

interface Worker {
	/** Host and port. */
	readonly node: string;
	/** Whether it has answered. */
	readonly success: boolean;
	/** What it has answered, of one row and column. */
	readonly result: string;
	/** The name of the database, the same on every node. */
	readonly database: string;
}

/** What of a cluster's catalog changes when an account moves, or a node. */
export interface ClusterState {
	/** 0 for the coordinator. */
	readonly group: number;
	/** All nodes, the same text on each of them. */
	readonly nodes: string;
	/** The number of the newest place of a table. */
	readonly newest: number;
}

/** The node that has an account's schema. */
export interface AccountNode {
	readonly schema: string;
	/** The number of each table there, by name. */
	readonly shards: Readonly<Record<string, number>>;
	readonly host: string;
	readonly port: number;
	readonly group: number;
}

/** The Citus extension of a database. It keeps each account's schema on one of several nodes. */
export class Citus {
	readonly #pool: PostgresPool;
	readonly #version: string;

	private constructor(pool: PostgresPool, version: string) {
		this.#pool = pool;
		this.#version = version;
	}

	/** @returns `undefined` where the database has no Citus */
	static async of(pool: PostgresPool): Promise<Citus | undefined> {
		const { rows } = await pool.query("SELECT extversion FROM pg_extension WHERE extname = 'citus'");
		return rows[0] && new Citus(pool, rows[0].extversion);
	}

	/** On a worker, host and port of the coordinator. Only that can say what lies where. */
	async coordinatorOfWorker(): Promise<string | undefined> {
		const { rows } = await this.#pool.query(
			`SELECT coalesce(nodename || ':' || nodeport, 'a machine that this one does not know') AS coordinator
			 FROM pg_dist_local_group AS here LEFT JOIN pg_dist_node AS node ON node.groupid = 0 AND noderole = 'primary'
			 WHERE here.groupid <> 0`,
		);
		return rows[0]?.coordinator;
	}

	/**
	 * Checks that every worker answers, as a new account needs: its tables are made known to each.
	 * @throws OperatorError
	 */
	async requireWorkers(): Promise<void> {
		const workers = await this.#askWorkers().catch((error: Error) => error);
		const silent =
			workers instanceof Error
				? `A worker of the cluster does not answer the coordinator (${workers.message})`
				: workers.flatMap(({ node, success }) =>
						success ? [] : `${node} does not answer the coordinator`,
					)[0];
		if (silent) throw new OperatorError(`${silent}, and every node must know the tables of a new account.`);
	}

	/** The distributed schemas of which the coordinator still has the rows that it had before. */
	async leftBehind(): Promise<Set<string>> {
		const { rows } = await this.#pool.query<{ schema: string }>(
			`SELECT DISTINCT nspname AS schema FROM pg_dist_partition
			 JOIN pg_class ON pg_class.oid = logicalrelid
			 JOIN pg_namespace ON pg_namespace.oid = relnamespace
			 WHERE pg_relation_size(logicalrelid) > 0 /* left behind */`,
		);
		return new Set(rows.map(({ schema }) => schema));
	}

	/** The node of each distributed schema; the others are on the coordinator. */
	async nodes(): Promise<Map<string, string>> {
		const { rows } = await this.#pool.query<{ schema: string; nodes: string }>(
			`SELECT nspname AS schema, string_agg(DISTINCT nodename || ':' || nodeport, ', ') AS nodes
			 FROM pg_dist_partition
			 JOIN pg_class ON pg_class.oid = logicalrelid
			 JOIN pg_namespace ON pg_namespace.oid = relnamespace
			 JOIN pg_dist_shard USING (logicalrelid)
			 JOIN pg_dist_placement USING (shardid)
			 JOIN pg_dist_node USING (groupid)
			 WHERE noderole = 'primary' GROUP BY nspname /* where accounts lie */`,
		);
		return new Map(rows.map(({ schema, nodes }) => [schema, nodes]));
	}

	/** On any node; costs little. */
	async state(): Promise<ClusterState> {
		const { rows } = await this.#pool.query<ClusterState>(
			`SELECT groupid AS "group", (SELECT max(placementid) FROM pg_dist_placement) AS newest,
				(SELECT string_agg(concat_ws(':', groupid, nodename, nodeport), ',' ORDER BY groupid, nodename, nodeport) FROM pg_dist_node) AS nodes
			 FROM pg_dist_local_group /* state of the cluster */`,
		);
		return rows[0] as ClusterState;
	}

	/**
	 * The workers that have accounts, and answer for every other account, too. Where one table of a schema lies, all of
	 * them do.
	 * @param schemas a regular expression
	 */
	async accountNodes(schemas: string): Promise<AccountNode[]> {
		const { rows } = await this.#pool.query<AccountNode>(
			`SELECT nspname AS schema, json_object_agg(relname, shardid) AS shards, nodename AS host, nodeport AS port, groupid AS "group"
			 FROM pg_class
			 JOIN pg_namespace ON pg_namespace.oid = relnamespace
			 JOIN pg_dist_shard ON logicalrelid = pg_class.oid
			 JOIN pg_dist_placement USING (shardid)
			 JOIN pg_dist_node USING (groupid)
			 WHERE nspname ~ $1 AND groupid <> 0 AND noderole = 'primary' AND isactive AND metadatasynced
			 GROUP BY nspname, nodename, nodeport, groupid /* nodes of accounts */`,
			[schemas],
		);
		return rows;
	}

	/**
	 * Checks that a COMMIT is on disk when a worker answers it. A session's settings do not reach the workers, so the
	 * setting of the database counts there.
	 * @throws OperatorError where it is not
	 */
	async checkDurability(): Promise<void> {
		const problem = durabilityProblem(await this.#askWorkers());
		if (problem) throw new OperatorError(`${problem}.`);
	}

	async *runChecks(controlSchema: string): AsyncIterable<Check> {
		const check = 'Citus';
		yield { check, ok: true, detail: this.#version };
		const workers = await this.#askWorkers().catch((error: Error) => error);
		const problems = [
			await this.#shardingProblem(),
			(await this.nodes()).has(controlSchema) &&
				"the control schema is distributed, which it must not be: copy everything to a new database with 'caskade copy'",
			...(workers instanceof Error
				? [`the workers cannot be asked: ${workers.message}`]
				: [
						workers.length === 0 &&
							'there is no worker, so every account lies on the coordinator: SELECT citus_set_coordinator_host(…), then citus_add_node(…) for each',
						...workers.map(({ node, success }) => !success && `${node} does not answer the coordinator`),
						durabilityProblem(workers),
						...(await this.#changedCollations()),
					]),
		];
		for (const detail of problems) if (detail) yield { check, ok: false, detail };
	}

	async #shardingProblem(): Promise<string | undefined> {
		const { rows } = await this.#pool.query(
			"SELECT current_setting('citus.enable_schema_based_sharding', true) AS sharding, current_database() AS database",
		);
		const { sharding, database } = rows[0];
		return sharding === 'on'
			? undefined
			: `new accounts will lie on the coordinator: ALTER DATABASE ${database} SET citus.enable_schema_based_sharding TO on`;
	}

	/** Of workers; the coordinator is asked like any server. */
	async #changedCollations(): Promise<string[]> {
		const workers = await this.#askWorkers(aboutChangedCollations);
		return workers.flatMap(({ node, success, result }) =>
			success && result ? [`on ${node}, ${result}`] : [],
		);
	}

	async #askWorkers(command = 'SHOW synchronous_commit'): Promise<Worker[]> {
		const statement = {
			text: "SELECT nodename || ':' || nodeport AS node, success, result, current_database() AS database FROM run_command_on_workers($1)",
			values: [command],
			query_timeout: askWorkersMs,
		};
		return (await this.#pool.query<Worker>(statement)).rows;
	}
}

function durabilityProblem(workers: readonly Worker[]): string | undefined {
	const [first, ...others] = workers.filter(({ success, result }) => success && !durable.has(result));
	if (!first) return undefined;
	const nodes = [first, ...others].map(({ node }) => node).join(', ');
	return `What is stored on ${nodes} may be lost in a crash, since synchronous_commit is ${first.result} there: run ALTER DATABASE ${first.database} SET synchronous_commit TO on on every node`;
}
