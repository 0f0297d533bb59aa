import { shownAddress } from '../../own-database.ts';
import { type AccountTables, isLeft, type NodeTables } from './account-tables.ts';
import type { SchemaNames } from './postgres-connection.ts';

/** How many servers a process keeps connections to, besides the one of the control schema. */
export const maxServers = 64;

/** Where a cluster has an account. */
export interface AccountPlace {
	readonly address: string;
	/** Unknown where some table is. */
	readonly tables: NodeTables | undefined;
}

/**
 * Which database server has an account's schema: the home server, which also has the control schema, unless the account
 * has a server of its own. A process learns this at its start and whenever it lists the accounts.
 */
export class AccountServers {
	readonly home: string;
	readonly #schemas: SchemaNames;
	#own: ReadonlyMap<number, string> = new Map();
	#nodes: ReadonlyMap<number, AccountPlace> = new Map();
	#nodeAddresses: ReadonlySet<string> = new Set();

	constructor(home: string, schemas: SchemaNames) {
		this.home = home;
		this.#schemas = schemas;
	}

	/** @param own addresses of the accounts that have a server of their own, by account number */
	learn(own: ReadonlyMap<number, string>): void {
		this.#own = own;
	}

	/**
	 * Adds an account that is being created. Other accounts' readers must not see it before its transaction has ended.
	 */
	learnOne(accountId: number, address: string): void {
		this.#own = new Map([...this.#own, [accountId, address]]);
	}

	/** @param nodes the cluster's nodes that have accounts and answer, by account number */
	learnNodes(nodes: ReadonlyMap<number, AccountPlace>): void {
		this.#nodes = nodes;
		this.#nodeAddresses = new Set([...nodes.values()].map(({ address }) => address));
	}

	/**
	 * Where what reads and writes an account's rows goes: on a cluster, to the node that has the account. Every node answers
	 * for every account, so a node that no longer has it costs time, never truth, see `places.ts`.
	 */
	addressOf(accountId: number): string {
		return this.#own.get(accountId) ?? this.#nodes.get(accountId)?.address ?? this.home;
	}

	/** Whether a server has several accounts. */
	isShared(address: string): boolean {
		return address === this.home || this.#nodeAddresses.has(address);
	}

	/** Where what changes an account's tables goes: on a cluster, to the coordinator. */
	ownerAddressOf(accountId: number): string {
		return this.#own.get(accountId) ?? this.home;
	}

	/** How transactions that hold an account in its place name its tables on a server. */
	tablesOf(accountId: number, address: string): AccountTables {
		const schema = this.schemaOf(accountId);
		const place = this.#nodes.get(accountId);
		const isThere = place?.address === address && !this.#own.has(accountId) && !isLeft(place.tables);
		return isThere ? { schema, node: place.tables } : { schema };
	}

	schemaOf(accountId: number): string {
		return this.#schemas.account(accountId);
	}

	/** The name of a server in logs: `postgres` for the home server, else its address without the password. */
	nameOf(address: string): string {
		return address === this.home ? 'postgres' : shownAddress(address);
	}
}
