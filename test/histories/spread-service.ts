import type { HistoryEvent } from '../../src/capabilities/history/store/past-history.ts';
import type { ArrivingHit, HistoryHit, StoredHit } from '../../src/core/domain/stored-hit.ts';
import type { SubscriptionEvent } from '../../src/core/domain/subscription-event.ts';
import { Service } from './service.ts';
import type { StoredService } from './stored-service.ts';

/** An account that several servers serve: whatever happens, happens on any of them. */
export class SpreadService extends Service {
	readonly #services: readonly [StoredService, ...StoredService[]];
	readonly #random: () => number;

	constructor(services: readonly [StoredService, ...StoredService[]], random: () => number) {
		super(services[0].store, services[0].accountId);
		this.#services = services;
		this.#random = random;
	}

	#any(): StoredService {
		const { [Math.floor(this.#random() * this.#services.length)]: service = this.#services[0] } =
			this.#services;
		return service;
	}

	pass(ms: number): number {
		return this.#services[0].pass(ms);
	}

	timeOf(atMs: number): number {
		return atMs;
	}

	async storeHits(
		hits: readonly ArrivingHit[],
		arriving: 'at once' | 'in one transaction',
	): Promise<readonly StoredHit[]> {
		if (arriving === 'in one transaction') return this.#any().storeHits(hits, arriving);
		return (await Promise.all(hits.map((hit) => this.#any().storeHits([hit], arriving)))).flat();
	}

	upload(events: readonly SubscriptionEvent[], atMs: number, isSimulated: boolean): Promise<number> {
		return this.#any().upload(events, atMs, isSimulated);
	}

	fold(pieces: number): Promise<void> {
		return this.#any().fold(pieces);
	}

	override import(hits: readonly HistoryHit[], events: readonly HistoryEvent[]): Promise<void> {
		return this.#any().import(hits, events);
	}

	override erase(vid: string): Promise<void> {
		return this.#any().erase(vid);
	}

	override eraseCustomer(cid: string): Promise<void> {
		return this.#any().eraseCustomer(cid);
	}

	override prune(beforeMs: number, keepsTouches: boolean): Promise<void> {
		return this.#any().prune(beforeMs, keepsTouches);
	}
}
