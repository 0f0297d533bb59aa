import type { CaskScope } from '../../../domain/cask-scope.ts';
import type { Participant } from '../../../domain/ownership.ts';
import type { Profile } from '../../../domain/profile.ts';
import { participantIn, participantSql } from '../../account/reading/persons.ts';
import { type Receipt, receiptColumns, toReceipt } from '../../account/reading/stored-receipts.ts';
import type { NumberedProfile, ServingReader } from '../../serving.ts';
import type { Row } from '../../steps.ts';
import type { AccountServers } from '../engine/account-servers.ts';
import type { NewestSchemas } from '../engine/newest-schemas.ts';
import { storageError } from '../engine/postgres-connection.ts';
import type { ServerPool } from '../engine/server-pool.ts';
import type { ReadQueue } from './read-queue.ts';

/** Reads for pages. Those that wait together share a round trip. */
export class PostgresReader implements ServingReader {
	readonly #servers: AccountServers;
	readonly #newest: NewestSchemas;
	readonly #reads: ServerPool<ReadQueue>;

	constructor(options: {
		servers: AccountServers;
		newest: NewestSchemas;
		reads: ServerPool<ReadQueue>;
	}) {
		this.#servers = options.servers;
		this.#newest = options.newest;
		this.#reads = options.reads;
	}

	visitor(accountId: number, vid: string): Promise<Profile | null> {
		return this.#profile(accountId, 'visitor', vid);
	}

	/** Visits of visitors who are being erased are not found. */
	visit(accountId: number, sid: string): Promise<Profile | null> {
		return this.#profile(accountId, 'visit', sid);
	}

	async #profile(accountId: number, table: 'visitor' | 'visit', key: string): Promise<Profile | null> {
		const profile = await this.#ask(accountId, (queue) => queue.profile(accountId, table, key));
		return profile === null ? null : JSON.parse(profile);
	}

	participant(accountId: number, scope: CaskScope, subject: string): Promise<Participant | null> {
		const schema = this.#servers.schemaOf(accountId);
		const text = participantSql(scope, (name) => `"${schema}".${name}`, '$1::text');
		return this.#ask(accountId, async (queue) => {
			const { rows } = await queue.query<Row>(accountId, text, [subject]);
			return participantIn(rows[0]);
		});
	}

	latest(
		accountId: number,
		scope: CaskScope,
		{ beforeId, limit }: { beforeId: number; limit: number },
	): Promise<NumberedProfile[]> {
		const table = `"${this.#servers.schemaOf(accountId)}".${scope === 'vid' ? 'visitor' : 'visit'}`;
		const text = `SELECT id, profile FROM ${table} WHERE id < $1 ORDER BY id DESC LIMIT $2 /* latest */`;
		return this.#ask(accountId, async (queue) => {
			const { rows } = await queue.query<{ id: number; profile: string }>(accountId, text, [beforeId, limit]);
			return rows.map(({ id, profile }) => ({ id, profile: JSON.parse(profile) }));
		});
	}

	/** Reads that wait together go together anyway, see `ReadQueue`. */
	inOneState(readAll: () => void): void {
		readAll();
	}

	receipts(accountId: number, tids: readonly string[]): Promise<Receipt[]> {
		const table = `"${this.#servers.schemaOf(accountId)}".subscription_event`;
		const text = `SELECT ${receiptColumns} FROM ${table} AS event WHERE event.tid = ANY($1) /* receipts */`;
		return this.#ask(accountId, async (queue) =>
			(await queue.query(accountId, text, [tids])).rows.map(toReceipt),
		);
	}

	async #ask<Answer>(accountId: number, ask: (queue: ReadQueue) => Promise<Answer>): Promise<Answer> {
		try {
			const bringing = this.#newest.beforeUse(accountId);
			if (bringing) await bringing;
			return await ask(this.#reads.get(this.#servers.addressOf(accountId)));
		} catch (error) {
			throw storageError(error);
		}
	}

	/** The connections belong to the store. */
	async close(): Promise<void> {}
}
