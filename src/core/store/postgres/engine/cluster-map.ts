import { StorageError } from '../../../errors.ts';
import type { AccountServers } from './account-servers.ts';
import { type NodeTables, nodeTables } from './account-tables.ts';
import { type AccountNode, Citus, type ClusterState } from './citus.ts';
import type { PostgresPool, SchemaNames } from './postgres-connection.ts';

const readAgainMs = 3000;

export interface ClusterMapOptions {
	/** Connections to the coordinator. */
	readonly pool: PostgresPool;
	readonly servers: AccountServers;
	readonly schemas: SchemaNames;
	/** Host and port by which this process reaches a node, by host and port by which the nodes do. */
	readonly nodeAddresses: Readonly<Record<string, string>>;
	/** Asks a server that may not answer. */
	readonly askQuickly: <T>(address: string, ask: (pool: PostgresPool) => Promise<T>) => Promise<T>;
	readonly onError: (address: string, error: Error) => void;
}

/**
 * Learns which node of a cluster has which account, and goes on learning it. Only nodes that answer this process count: what
 * another has is asked of the coordinator, which may reach it.
 */
export class ClusterMap {
	readonly #options: ClusterMapOptions;
	#state: ClusterState | undefined;
	#accounts: readonly { readonly node: AccountNode; readonly tables: NodeTables | undefined }[] = [];
	/** Addresses of the nodes that have not answered. */
	#silent: ReadonlySet<string> = new Set();
	#timer: NodeJS.Timeout | undefined;
	#isStopped = false;

	constructor(options: ClusterMapOptions) {
		this.#options = options;
	}

	/** Nobody waits for it: until it knows the nodes, the coordinator is asked. */
	async start(): Promise<void> {
		const isCluster = await this.#learn();
		if (!isCluster || this.#isStopped) return;
		this.#timer = setTimeout(() => void this.start(), readAgainMs).unref();
	}

	stop(): void {
		this.#isStopped = true;
		clearTimeout(this.#timer);
	}

	/** @returns whether there is a cluster, as far as is known */
	async #learn(): Promise<boolean> {
		const { pool, servers, schemas, onError } = this.#options;
		try {
			const citus = await Citus.of(pool);
			if (!citus) return false;
			const state = await citus.state();
			if (state.newest !== this.#state?.newest || state.nodes !== this.#state.nodes)
				this.#accounts = (await citus.accountNodes(schemas.accounts)).map((node) => ({
					node,
					tables: nodeTables(node.schema, node.shards),
				}));
			this.#state = state;
			const placed = this.#accounts.map((account) => ({
				...account,
				address: this.#addressOf(account.node),
			}));
			const nodes = new Map(placed.map(({ node, address }) => [address, node]));
			const silent = await Promise.all(
				[...nodes].map(async ([address, { group }]) => {
					const error = await this.#problemOf(address, { ...state, group });
					if (error && !this.#silent.has(address)) onError(address, error);
					return error ? [address] : [];
				}),
			);
			this.#silent = new Set(silent.flat());
			servers.learnNodes(
				new Map(
					placed.flatMap(({ node: { schema }, tables, address }) =>
						this.#silent.has(address) ? [] : [[schemas.accountIdOf(schema), { address, tables }]],
					),
				),
			);
		} catch (error) {
			// What was known is still right, or costs time.
			if (!this.#isStopped) onError(servers.home, error as Error);
		}
		return true;
	}

	/** The coordinator's address with the host and the port of a node. */
	#addressOf({ host, port }: AccountNode): string {
		const name = `${host.includes(':') ? `[${host}]` : host}:${port}`;
		const url = new URL(this.#options.servers.home);
		url.host = this.#options.nodeAddresses[name] ?? name;
		for (const parameter of ['host', 'port']) url.searchParams.delete(parameter);
		return url.href;
	}

	/** A name such as `localhost` may be of another server here than it is for the coordinator. */
	async #problemOf(address: string, expected: ClusterState): Promise<Error | undefined> {
		try {
			const state = await this.#options.askQuickly(address, async (pool) => (await Citus.of(pool))?.state());
			if (state?.group === expected.group && state.nodes === expected.nodes) return undefined;
			return new StorageError('this is not the node of the cluster that the coordinator knows by this name');
		} catch (error) {
			return error as Error;
		}
	}
}
