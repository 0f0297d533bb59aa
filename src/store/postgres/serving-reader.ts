import type { CaskScope } from '../../access/cask.ts';
import type { Profile } from '../../visitors/profile.ts';
import { type NumberedProfile, type ServingReader, StorageError } from '../store.ts';
import type { ConnectionPool, SchemaNames } from './connection.ts';

/** Reads for pages, a round trip each. */
export class PostgresReader implements ServingReader {
	readonly #pool: ConnectionPool;
	readonly #schemas: SchemaNames;

	constructor(pool: ConnectionPool, schemas: SchemaNames) {
		this.#pool = pool;
		this.#schemas = schemas;
	}

	visitor(accountId: number, vid: string): Promise<Profile | null> {
		return this.#profile(accountId, 'visitor', 'vid', vid);
	}

	visit(accountId: number, sid: string): Promise<Profile | null> {
		return this.#profile(accountId, 'visit', 'sid', sid);
	}

	async #profile(accountId: number, table: string, key: string, value: string): Promise<Profile | null> {
		const [row] = await this.#query(
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
			`SELECT id, profile FROM ${table} WHERE id < $1 ORDER BY id DESC LIMIT $2 /* latest */`,
			[beforeId, limit],
		);
	}

	async #query(text: string, values: (string | number)[]): Promise<NumberedProfile[]> {
		try {
			const { rows } = await this.#pool.query<{ id: number; profile: string }>(text, values);
			return rows.map(({ id, profile }) => ({ id, profile: JSON.parse(profile) }));
		} catch (error) {
			throw new StorageError(error instanceof Error ? error.message : String(error), { cause: error });
		}
	}

	#table(accountId: number, name: string): string {
		return `"${this.#schemas.account(accountId)}".${name}`;
	}

	async close(): Promise<void> {
		await this.#pool.end();
	}
}
