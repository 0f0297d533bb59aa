import type { Profile } from '../../visitors/profile.ts';
import { type ServingReader, StorageError } from '../store.ts';
import type { ConnectionPool, SchemaNames } from './connection.ts';

/** Reads for pages, a round trip each. */
export class PostgresReader implements ServingReader {
	readonly #pool: ConnectionPool;
	readonly #schemas: SchemaNames;

	constructor(pool: ConnectionPool, schemas: SchemaNames) {
		this.#pool = pool;
		this.#schemas = schemas;
	}

	async visitor(accountId: number, vid: string): Promise<Profile | null> {
		const table = this.#table(accountId, 'visitor');
		const [profile] = await this.#profiles(
			`SELECT profile FROM ${table} WHERE vid = $1 /* read visitor */`,
			vid,
		);
		return profile ?? null;
	}

	async visit(accountId: number, sid: string): Promise<Profile | null> {
		const table = this.#table(accountId, 'visit');
		const [profile] = await this.#profiles(
			`SELECT profile FROM ${table} WHERE sid = $1 /* read visit */`,
			sid,
		);
		return profile ?? null;
	}

	latestVisitors(accountId: number, limit: number): Promise<Profile[]> {
		const table = this.#table(accountId, 'visitor');
		return this.#profiles(
			`SELECT profile FROM ${table} ORDER BY id DESC LIMIT $1 /* latest visitors */`,
			limit,
		);
	}

	latestVisits(accountId: number, limit: number): Promise<Profile[]> {
		const table = this.#table(accountId, 'visit');
		return this.#profiles(
			`SELECT profile FROM ${table} ORDER BY id DESC LIMIT $1 /* latest visits */`,
			limit,
		);
	}

	async #profiles(text: string, value: string | number): Promise<Profile[]> {
		try {
			const { rows } = await this.#pool.query<{ profile: string }>(text, [value]);
			return rows.map(({ profile }) => JSON.parse(profile));
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
