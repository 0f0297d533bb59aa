import type { CaskScope } from '../../access/cask.ts';
import type { Profile } from '../../visitors/profile.ts';
import { asStorageError, type NumberedProfile, type ServingReader } from '../store.ts';
import { type AccountServers, mostServers } from './account-servers.ts';
import { ConnectionPool, type PoolOptions } from './connection.ts';
import type { NewestSchemas } from './newest-schemas.ts';
import { PerServer } from './per-server.ts';

const readingPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
};

/** Reads for pages, a round trip each. */
export class PostgresReader implements ServingReader {
	readonly #servers: AccountServers;
	readonly #newest: NewestSchemas;
	readonly #pools: PerServer<ConnectionPool>;

	/** @param onTrouble a connection broke while nobody used it */
	constructor(
		{ servers, newest }: { servers: AccountServers; newest: NewestSchemas },
		onTrouble: (address: string, error: Error) => void,
	) {
		this.#servers = servers;
		this.#newest = newest;
		this.#pools = new PerServer(
			mostServers,
			(address) => new ConnectionPool(address, readingPool, (error) => onTrouble(address, error)),
		);
	}

	visitor(accountId: number, vid: string): Promise<Profile | null> {
		return this.#profile(accountId, 'visitor', 'vid', vid);
	}

	visit(accountId: number, sid: string): Promise<Profile | null> {
		return this.#profile(accountId, 'visit', 'sid', sid);
	}

	async #profile(accountId: number, table: string, key: string, value: string): Promise<Profile | null> {
		const [row] = await this.#query(
			accountId,
			`SELECT 0 AS id, profile FROM ${this.#table(accountId, table)} WHERE ${key} = $1 /* read ${table} */`,
			[value],
		);
		return row?.profile ?? null;
	}

	latest(
		accountId: number,
		scope: CaskScope,
		{ beforeId, limit }: { beforeId: number; limit: number },
	): Promise<NumberedProfile[]> {
		const table = this.#table(accountId, scope === 'vid' ? 'visitor' : 'visit');
		return this.#query(
			accountId,
			`SELECT id, profile FROM ${table} WHERE id < $1 ORDER BY id DESC LIMIT $2 /* latest */`,
			[beforeId, limit],
		);
	}

	async #query(accountId: number, text: string, values: (string | number)[]): Promise<NumberedProfile[]> {
		try {
			await this.#newest.beforeUse(accountId);
			const pool = this.#pools.get(this.#servers.addressOf(accountId));
			const { rows } = await pool.queryAgain<{ id: number; profile: string }>(text, values);
			return rows.map(({ id, profile }) => ({ id, profile: JSON.parse(profile) }));
		} catch (error) {
			throw asStorageError(error);
		}
	}

	#table(accountId: number, name: string): string {
		return `"${this.#servers.schemaOf(accountId)}".${name}`;
	}

	async close(): Promise<void> {
		await this.#pools.close();
	}
}
