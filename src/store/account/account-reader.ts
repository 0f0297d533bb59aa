import { type Kysely, sql } from 'kysely';
import type { Profile } from '../../domain/profile.ts';
import { type SubscriptionEvent, subscriptionEventFields } from '../../domain/subscription-event.ts';
import type { Value } from '../steps.ts';
import {
	changedSince,
	customerIdsOf,
	type EvaluatedVisitor,
	evaluatedPage,
	evaluatedVisitors,
	evaluatedWithoutVisitor,
} from './standings.ts';
import { type ClientTable, type ClientTables, clientTables, type HitTables, oneHitTable } from './tables.ts';
import {
	type FirstHit,
	firstHits,
	type HistoryExtent,
	type HitMoment,
	historyExtent,
	hitsBefore,
	type VisitorHistory,
	visitorHistories,
} from './visitor-history.ts';

export interface StoredSubscriptionEvent extends SubscriptionEvent {
	/** ISO 8601, UTC. */
	readonly receivedAt: string;
}

const pageRows = 1000;

/** Reads of one account's database. */
export class ClientReader {
	readonly #database: Kysely<ClientTables>;
	readonly #hitTables: HitTables;

	constructor(database: Kysely<ClientTables>, hitTables: HitTables = oneHitTable) {
		this.#database = database;
		this.#hitTables = hitTables;
	}

	/** Stored events in order of arrival, a page at a time. */
	async *subscriptionEvents(
		filter: { tid?: string | undefined } = {},
	): AsyncIterable<StoredSubscriptionEvent> {
		let after = 0;
		for (;;) {
			let query = this.#database
				.selectFrom('subscription_event')
				.select(['id', ...subscriptionEventFields, 'received_at'])
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

	/**
	 * A page of a table in key order; each row is an array in column order. Recent hits that an engine stores
	 * separately are in `hit` only once they are settled, see `settle-all.ts`.
	 * @param after the key of the last row of the previous page
	 */
	async rows(table: ClientTable, after: readonly Value[] | undefined, limit: number): Promise<Value[][]> {
		const { columns, key } = clientTables[table];
		const keyList = sql.join(key.map((column) => sql.ref(column)));
		let query = this.#database
			.selectFrom(table)
			.select(columns.map((column) => sql.ref<Value>(column).as(column)))
			.orderBy(keyList)
			.limit(limit);
		if (after) query = query.where(sql<boolean>`(${keyList}) > (${sql.join(after)})`);
		const rows: Readonly<Record<string, Value>>[] = await query.execute();
		return rows.map((row) => columns.map((column) => row[column] as Value));
	}

	countSubscriptionEvents(): Promise<number> {
		return this.count('subscription_event');
	}

	async countHits(): Promise<number> {
		const { hits } = await this.historyExtent(Number.MAX_SAFE_INTEGER);
		return hits;
	}

	async count(table: ClientTable): Promise<number> {
		const row = await this.#database
			.selectFrom(table)
			.select(({ fn }) => fn.countAll<number>().as('count'))
			.executeTakeFirstOrThrow();
		return Number(row.count);
	}

	/**
	 * A page of all visitors, by id.
	 * @param every only visitors whose id it divides
	 */
	async visitorProfiles(
		afterId: number,
		limit: number,
		every = 1,
	): Promise<{ id: number; vid: string; profile: Profile }[]> {
		let query = this.#database
			.selectFrom('visitor')
			.select(['id', 'vid', 'profile'])
			.where('id', '>', afterId)
			.orderBy('id')
			.limit(limit);
		if (every > 1) query = query.where(sql<boolean>`id % ${every} = 0`);
		return (await query.execute()).map(({ profile, ...row }) => ({ ...row, profile: JSON.parse(profile) }));
	}

	/** The profiles of these visitors, by `vid`. */
	async profilesOf(vids: readonly string[]): Promise<Map<string, Profile>> {
		const rows = await this.#database
			.selectFrom('visitor')
			.select(['vid', 'profile'])
			.where('vid', 'in', vids)
			.execute();
		return new Map(rows.map(({ vid, profile }) => [vid, JSON.parse(profile)]));
	}

	countVisitors(): Promise<number> {
		return this.count('visitor');
	}

	/** The next visitors in the order of their `vid`. */
	async vidsAfter(vid: string, limit: number): Promise<string[]> {
		const rows = await this.#database
			.selectFrom('visitor')
			.select('vid')
			.where('vid', '>', vid)
			.orderBy('vid')
			.limit(limit)
			.execute();
		return rows.map((row) => row.vid);
	}

	/** The extent of the history up to a moment. */
	historyExtent(asOfMs: number): Promise<HistoryExtent> {
		return historyExtent(this.#database, asOfMs, this.#hitTables);
	}

	/** The latest hits up to a moment, latest first. */
	hitsBefore(atMs: number, limit: number): Promise<HitMoment[]> {
		return hitsBefore(this.#database, atMs, limit, this.#hitTables);
	}

	/** The first hits of these visitors up to a moment, in no particular order. Visitors without one are left out. */
	firstHits(vids: readonly string[], asOfMs: number): Promise<FirstHit[]> {
		return firstHits(this.#database, vids, asOfMs, this.#hitTables);
	}

	/** The histories of these visitors up to a moment, in the order of `vids`. Visitors without one are left out. */
	visitorHistories(vids: readonly string[], asOfMs: number): Promise<VisitorHistory[]> {
		return visitorHistories(this.#database, vids, asOfMs, this.#hitTables);
	}

	/** The visitors with hits or subscription events after a moment and up to another, and the time of the last of these. */
	changedSince(afterMs: number, untilMs: number): Promise<Map<string, number>> {
		return changedSince(this.#database, afterMs, untilMs, this.#hitTables);
	}

	/** Visitors and what webhooks know of them. Those that are gone have no profile. */
	evaluatedVisitors(vids: readonly string[]): Promise<EvaluatedVisitor[]> {
		return evaluatedVisitors(this.#database, vids);
	}

	/** The same of the next visitors in order of arrival. @returns the id of the last one; undefined at the end */
	evaluatedPage(
		afterId: number,
		limit: number,
	): Promise<{ visitors: EvaluatedVisitor[]; lastId: number | undefined }> {
		return evaluatedPage(this.#database, afterId, limit);
	}

	/** Visitors that webhooks know and who are gone, for example because their hits were too old. */
	evaluatedWithoutVisitor(limit: number): Promise<EvaluatedVisitor[]> {
		return evaluatedWithoutVisitor(this.#database, limit);
	}

	/** The customer id that each visitor has shown last; those without one are left out. */
	customerIdsOf(vids: readonly string[]): Promise<Map<string, string>> {
		return customerIdsOf(this.#database, vids);
	}
}
