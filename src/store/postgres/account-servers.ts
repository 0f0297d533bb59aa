import { shownAddress } from '../own-database.ts';
import type { SchemaNames } from './connection.ts';

/** Servers to which a process keeps connections open, besides those of the control schema. */
export const maxServers = 64;

/**
 * Which database server has an account's schema: the one of the control schema, its home, unless the account has one of
 * its own. Known to a process at its start, and from then on whenever it reads what accounts there are.
 */
export class AccountServers {
	readonly home: string;
	readonly #schemas: SchemaNames;
	#own: ReadonlyMap<number, string> = new Map();

	constructor(home: string, schemas: SchemaNames) {
		this.home = home;
		this.#schemas = schemas;
	}

	/** @param own addresses of accounts that have a server of their own, by the account's number */
	learn(own: ReadonlyMap<number, string>): void {
		this.#own = own;
	}

	/** One that is being created: others must not know it before its transaction has ended. */
	learnOne(accountId: number, address: string): void {
		this.#own = new Map([...this.#own, [accountId, address]]);
	}

	addressOf(accountId: number): string {
		return this.#own.get(accountId) ?? this.home;
	}

	schemaOf(accountId: number): string {
		return this.#schemas.account(accountId);
	}

	/** As logs name a server: `postgres` for the home, else its address without password. */
	nameOf(address: string): string {
		return address === this.home ? 'postgres' : shownAddress(address);
	}
}
