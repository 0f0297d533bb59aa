import type pg from 'pg';
import type { CaskScope } from '../../domain/cask-scope.ts';
import type { Profile } from '../../domain/profile.ts';
import { asStorageError } from '../../errors.ts';
import { type Receipt, receiptColumns, toReceipt } from '../account/receipts.ts';
import type { NumberedProfile, ServingReader } from '../store.ts';
import type { AccountServers } from './account-servers.ts';
import type { NewestSchemas } from './newest-schemas.ts';
import type { ReadQueue } from './read-queue.ts';
import type { ServerPool } from './server-pool.ts';

/** Reads for pages, a round trip each. */
export class PostgresReader implements ServingReader {
	readonly #servers: AccountServers;
	readonly #newest: NewestSchemas;
	readonly #reads: ServerPool<ReadQueue>;

	constructor(options: { servers: AccountServers; newest: NewestSchemas; reads: ServerPool<ReadQueue> }) {
		this.#servers = options.servers;
		this.#newest = options.newest;
		this.#reads = options.reads;
	}

	visitor(accountId: number, vid: string): Promise<Profile | null> {
		return this.#profile(
			accountId,
			`${this.#table(accountId, 'visitor')} WHERE vid = $1 /* read visitor */`,
			vid,
		);
	}

	/** None of a visitor who is being erased. */
	visit(accountId: number, sid: string): Promise<Profile | null> {
		const [visits, visitors] = [this.#table(accountId, 'visit'), this.#table(accountId, 'visitor')];
		const from = `${visits} AS visit WHERE sid = $1 AND EXISTS (SELECT 1 FROM ${visitors} AS visitor WHERE visitor.vid = visit.vid) /* read visit */`;
		return this.#profile(accountId, from, sid);
	}

	async #profile(accountId: number, from: string, value: string): Promise<Profile | null> {
		const [row] = await this.#query<{ profile: string }>(accountId, `SELECT profile FROM ${from}`, [value]);
		return row ? JSON.parse(row.profile) : null;
	}

	async latest(
		accountId: number,
		scope: CaskScope,
		{ beforeId, limit }: { beforeId: number; limit: number },
	): Promise<NumberedProfile[]> {
		const table = this.#table(accountId, scope === 'vid' ? 'visitor' : 'visit');
		const rows = await this.#query<{ id: number; profile: string }>(
			accountId,
			`SELECT id, profile FROM ${table} WHERE id < $1 ORDER BY id DESC LIMIT $2 /* latest */`,
			[beforeId, limit],
		);
		return rows.map(({ id, profile }) => ({ id, profile: JSON.parse(profile) }));
	}

	async receipts(accountId: number, tids: readonly string[]): Promise<Receipt[]> {
		const table = this.#table(accountId, 'subscription_event');
		const text = `SELECT ${receiptColumns} FROM ${table} AS event WHERE event.tid = ANY($1) /* receipts */`;
		return (await this.#query(accountId, text, [tids])).map(toReceipt);
	}

	async #query<Row extends pg.QueryResultRow>(
		accountId: number,
		text: string,
		values: readonly unknown[],
	): Promise<Row[]> {
		try {
			await this.#newest.beforeUse(accountId);
			const queue = this.#reads.get(this.#servers.addressOf(accountId));
			return (await queue.query<Row>(accountId, text, values)).rows;
		} catch (error) {
			throw asStorageError(error);
		}
	}

	#table(accountId: number, name: string): string {
		return `"${this.#servers.schemaOf(accountId)}".${name}`;
	}

	/** Its connections are the store's. */
	async close(): Promise<void> {}
}
