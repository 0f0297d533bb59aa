import { Deadline } from '../../src/core/deadline.ts';
import type { ArrivingHit, StoredHit } from '../../src/core/domain/stored-hit.ts';
import type { SubscriptionEvent } from '../../src/core/domain/subscription-event.ts';
import { storeHits } from '../../src/core/store/account/arriving/hits.ts';
import { foldOnce } from '../../src/core/store/fold-all.ts';
import type { ServingWriter } from '../../src/core/store/serving.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { Service } from './service.ts';

/** An account in a store of this process. Time is given, and nothing happens in the background. */
export class StoredService extends Service {
	readonly #writer: ServingWriter;
	#nowMs: number;
	#folded = '';

	/** @param beginMs when its time begins */
	constructor(
		{ store, writer, accountId }: { store: OpenStore; writer: ServingWriter; accountId: number },
		beginMs = Date.UTC(2025, 2, 1),
	) {
		super(store, accountId);
		this.#writer = writer;
		this.#nowMs = beginMs;
	}

	pass(ms: number): number {
		this.#nowMs += ms;
		return this.#nowMs;
	}

	timeOf(atMs: number): number {
		return atMs;
	}

	async storeHits(
		hits: readonly ArrivingHit[],
		arriving: 'at once' | 'in one transaction',
	): Promise<readonly StoredHit[]> {
		if (arriving === 'in one transaction') return this.store.transact(this.accountId, () => storeHits(hits));
		return Promise.all(hits.map((hit) => this.#writer.storeHit(this.accountId, hit)));
	}

	async upload(events: readonly SubscriptionEvent[], atMs: number, simulate: boolean): Promise<number> {
		const deadline = new Deadline(60_000, () => {});
		const upload = { events, receivedAtMs: atMs, simulate };
		const outcome = await this.#writer.storeSubscriptionEvents(this.accountId, upload, deadline);
		deadline.clear();
		if (outcome === 'expired') throw new Error('a deadline of a minute has expired');
		return atMs;
	}

	async fold(pieces: number): Promise<void> {
		for (let piece = 0; piece < pieces; piece++)
			this.#folded = (await foldOnce(this.store, this.accountId, this.#folded)) ?? '';
	}
}
