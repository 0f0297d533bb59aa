import { HistoryWriter } from '../../src/capabilities/history/store/history-writer.ts';
import type { HistoryEvent } from '../../src/capabilities/history/store/past-history.ts';
import { prune, pruneKept } from '../../src/capabilities/upkeep/store/pruning.ts';
import { eraseCustomerVisitors, eraseOne } from '../../src/capabilities/visitors/store/erasure.ts';
import type { ArrivingHit, HistoryHit, StoredHit } from '../../src/core/domain/stored-hit.ts';
import type { SubscriptionEvent } from '../../src/core/domain/subscription-event.ts';
import { OperatorError } from '../../src/core/errors.ts';
import type { OpenStore } from '../../src/core/store/store.ts';

/** A hit, and the seed that it is derived from. */
export type BrowserHit = ArrivingHit & { readonly seed?: string | undefined };

/** An account that histories are played on. What commands do is done beside whatever serves it. */
export abstract class Service {
	readonly store: OpenStore;
	readonly accountId: number;

	constructor(store: OpenStore, accountId: number) {
		this.store = store;
		this.accountId = accountId;
	}

	/** Lets time pass. @returns the time */
	abstract pass(ms: number): number;

	/** The earliest time that something may have which is done now and should have a given time. */
	abstract timeOf(atMs: number): number;

	/** Stores hits in the order that is named. @returns what was answered; undefined where nothing was */
	abstract storeHits(
		hits: readonly BrowserHit[],
		arriving: 'at once' | 'in one transaction',
	): Promise<readonly (StoredHit | undefined)[]>;

	/** @returns when the events were received; undefined if only the service knows */
	abstract upload(
		events: readonly SubscriptionEvent[],
		atMs: number,
		isSimulated: boolean,
	): Promise<number | undefined>;

	/** Does pieces of the background work. */
	abstract fold(pieces: number): Promise<void>;

	async import(hits: readonly HistoryHit[], events: readonly HistoryEvent[]): Promise<void> {
		const atOnce = 400;
		const writer = new HistoryWriter(this.store, this.accountId, { initial: atOnce, max: atOnce });
		await writer.add(hits.slice(0, atOnce), events);
		for (let from = atOnce; from < hits.length; from += atOnce)
			await writer.add(hits.slice(from, from + atOnce), []);
	}

	async erase(vid: string): Promise<void> {
		await eraseOne(this.store, this.accountId, vid);
	}

	async eraseCustomer(cid: string): Promise<void> {
		await eraseCustomerVisitors(this.store, this.accountId, cid).catch((error) => {
			// Nothing is stored of that customer.
			if (!(error instanceof OperatorError)) throw error;
		});
	}

	async prune(beforeMs: number, keepsTouches: boolean): Promise<void> {
		while ((await this.store.transact(this.accountId, () => prune(beforeMs, keepsTouches))) > 0);
		if (keepsTouches) return;
		while ((await this.store.transact(this.accountId, () => pruneKept(beforeMs))) > 0);
	}
}
