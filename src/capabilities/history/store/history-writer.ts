import type { HistoryHit } from '../../../core/domain/stored-hit.ts';
import { BatchSizer, type BatchSizes } from '../../../core/store/batch-sizer.ts';
import type { Store } from '../../../core/store/store.ts';
import { type CrowdedMoment, isCrowded, readCrowded } from './crowded-moment.ts';
import { type HistoryEvent, type StoredHistory, storeHistory } from './past-history.ts';

type StoredBatch<Event> = Omit<StoredHistory<never, Event>, 'left' | 'crowded'>;

/** Stores hits and subscription events of the past into an account, in short transactions. */
export class HistoryWriter {
	readonly #store: Store;
	readonly #accountId: number;
	readonly #batchSizer: BatchSizer;
	/** The last that hits were stored at. Hits in order of visitor and time have one at a time. */
	#crowded: CrowdedMoment | undefined;

	constructor(store: Store, accountId: number, linesPerTransaction: BatchSizes) {
		this.#store = store;
		this.#accountId = accountId;
		this.#batchSizer = new BatchSizer(linesPerTransaction);
	}

	/** How many lines to add next. */
	get size(): number {
		return this.#batchSizer.size;
	}

	/** @param onLines receives the number of lines done in each transaction */
	async add<Event extends HistoryEvent>(
		hits: readonly HistoryHit[],
		events: readonly Event[],
		onLines: (lines: number) => void = () => {},
	): Promise<StoredBatch<Event>> {
		const first = await this.#transact(hits, events, onLines);
		let stored = first.hits;
		for (let { left } = first; left.length > 0; ) {
			const next = await this.#transact(left, [], onLines);
			stored += next.hits;
			left = next.left;
		}
		return { hits: stored, events: first.events, conflicts: first.conflicts };
	}

	async #transact<Event extends HistoryEvent>(
		hits: readonly HistoryHit[],
		events: readonly Event[],
		onLines: (lines: number) => void,
	): Promise<StoredHistory<HistoryHit, Event>> {
		const linesOf = ({ left }: StoredHistory<HistoryHit, Event>) => hits.length - left.length + events.length;
		const stored = await this.#batchSizer.run(
			() => this.#store.transact(this.#accountId, () => storeHistory(hits, events, this.#crowded)),
			linesOf,
		);
		onLines(linesOf(stored));
		const { crowded } = stored;
		if (crowded && !isCrowded(this.#crowded, crowded))
			this.#crowded = await this.#store.read(this.#accountId, readCrowded(crowded));
		return stored;
	}
}
