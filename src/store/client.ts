import type { Kysely } from 'kysely';
import type { Profile } from '../visitors/profile.ts';
import type { SubscriptionEvent } from './store.ts';

/** The tables of an account's database; see `migrations/<engine>/client/`. */
export interface ClientTables {
	subscription_event: {
		id: number;
		tid: string;
		subid: string;
		cid: string | null;
		evt: string;
		rvn: number;
		received_at: number;
	};
	visitor: { id: number; vid: string; profile: string };
}

export interface StoredSubscriptionEvent extends SubscriptionEvent {
	/** ISO 8601, UTC. */
	readonly receivedAt: string;
}

const pageRows = 1000;

/** Reads of one account's database. */
export class ClientReader {
	readonly #database: Kysely<ClientTables>;

	constructor(database: Kysely<ClientTables>) {
		this.#database = database;
	}

	/** Stored events in order of arrival, a page at a time. */
	async *subscriptionEvents(
		filter: { tid?: string | undefined } = {},
	): AsyncIterable<StoredSubscriptionEvent> {
		let after = 0;
		for (;;) {
			let query = this.#database
				.selectFrom('subscription_event')
				.select(['id', 'tid', 'subid', 'cid', 'evt', 'rvn', 'received_at'])
				.where('id', '>', after)
				.orderBy('id')
				.limit(pageRows);
			if (filter.tid !== undefined) query = query.where('tid', '=', filter.tid);
			const rows = await query.execute();
			for (const { id, received_at, ...event } of rows) {
				after = id;
				yield { ...event, receivedAt: new Date(received_at).toISOString() };
			}
			if (rows.length < pageRows) return;
		}
	}

	/** Stored events as they are stored, by id; for whoever copies or compares them. */
	subscriptionEventRows(afterId: number, limit: number): Promise<ClientTables['subscription_event'][]> {
		return this.#database
			.selectFrom('subscription_event')
			.select(['id', 'tid', 'subid', 'cid', 'evt', 'rvn', 'received_at'])
			.where('id', '>', afterId)
			.orderBy('id')
			.limit(limit)
			.execute();
	}

	async countSubscriptionEvents(): Promise<number> {
		const row = await this.#database
			.selectFrom('subscription_event')
			.select(({ fn }) => fn.countAll<number>().as('count'))
			.executeTakeFirstOrThrow();
		return Number(row.count);
	}

	/** Visitors in order of arrival, by id; for whoever goes over all of them. */
	async visitorProfiles(
		afterId: number,
		limit: number,
	): Promise<{ id: number; vid: string; profile: Profile }[]> {
		const rows = await this.#database
			.selectFrom('visitor')
			.select(['id', 'vid', 'profile'])
			.where('id', '>', afterId)
			.orderBy('id')
			.limit(limit)
			.execute();
		return rows.map(({ profile, ...row }) => ({ ...row, profile: JSON.parse(profile) }));
	}

	async countVisitors(): Promise<number> {
		const row = await this.#database
			.selectFrom('visitor')
			.select(({ fn }) => fn.countAll<number>().as('count'))
			.executeTakeFirstOrThrow();
		return Number(row.count);
	}
}
