import { monotonicMs } from '../../clock.ts';
import { asStorageError, QueueFullError, StorageError } from '../store.ts';
import { type ArrivingHit, type StoredHit, storeHits } from '../visitor-log.ts';
import {
	beginWriting,
	type ConnectionPool,
	commit,
	isPassing,
	isRolledBack,
	together,
} from './connection.ts';
import { hasLeftWork, runSteps } from './run-steps.ts';

/** Hits stored in one transaction; more would make the first of them wait for little gain. */
const groupLimit = 64;
/** How often, and until when, a group is tried again whose transaction was ended by what passes. */
const mostRetries = 3;
const retryWithinMs = 4000;
const acquireWithinMs = 5000;

export interface HitQueueOptions {
	readonly pool: ConnectionPool;
	/** The schema that an account's hits are in. */
	readonly schemaOf: (accountId: number) => string;
	/** What must be over before the schema is used; absent where there is nothing to wait for. */
	readonly beforeUse?: (accountId: number) => Promise<void> | undefined;
	/** Transactions at a time; half of them for one account. */
	readonly connections: number;
	/** Hits that may wait, at most. */
	readonly length: number;
	readonly onTrouble: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

interface WaitingHit {
	readonly hit: ArrivingHit;
	readonly resolve: (stored: StoredHit) => void;
	readonly reject: (error: Error) => void;
}

/**
 * Hits that wait for a connection. One that is free takes what waits of one account, and stores it in one
 * transaction; so many hits share the price of a commit.
 */
export class HitQueue {
	readonly #options: HitQueueOptions;
	/** In the order in which accounts take turns. */
	readonly #waiting = new Map<number, WaitingHit[]>();
	readonly #activeOf = new Map<number, number>();
	#active = 0;
	#depth = 0;
	#whenIdle: (() => void)[] = [];

	constructor(options: HitQueueOptions) {
		this.#options = options;
	}

	get depth(): number {
		return this.#depth;
	}

	/** @throws QueueFullError, StorageError */
	store(accountId: number, hit: ArrivingHit): Promise<StoredHit> {
		if (this.#depth >= this.#options.length) return Promise.reject(new QueueFullError());
		this.#depth++;
		const stored = new Promise<StoredHit>((resolve, reject) => {
			const before = this.#options.beforeUse?.(accountId);
			if (!before) this.#enqueue(accountId, { hit, resolve, reject });
			else
				before.then(
					() => this.#enqueue(accountId, { hit, resolve, reject }),
					(error: Error) => {
						this.#options.onTrouble(error.message);
						reject(error);
					},
				);
		});
		return stored.finally(() => {
			this.#depth--;
		});
	}

	#enqueue(accountId: number, waiting: WaitingHit): void {
		const queue = this.#waiting.get(accountId);
		if (queue) queue.push(waiting);
		else this.#waiting.set(accountId, [waiting]);
		// In the next turn, so that hits that arrive together go together.
		setImmediate(() => this.#pump());
	}

	#pump(): void {
		const mostOfOne = Math.max(1, Math.floor(this.#options.connections / 2));
		while (this.#active < this.#options.connections) {
			const accountId = this.#waiting.keys().find((id) => (this.#activeOf.get(id) ?? 0) < mostOfOne);
			if (accountId === undefined) return;
			const all = this.#waiting.get(accountId) ?? [];
			this.#waiting.delete(accountId);
			if (all.length > groupLimit) this.#waiting.set(accountId, all.slice(groupLimit));
			this.#active++;
			this.#activeOf.set(accountId, (this.#activeOf.get(accountId) ?? 0) + 1);
			void this.#work(accountId, all.slice(0, groupLimit)).then(() => this.#done(accountId));
		}
	}

	#done(accountId: number): void {
		this.#active--;
		this.#activeOf.set(accountId, (this.#activeOf.get(accountId) ?? 1) - 1);
		if (this.#activeOf.get(accountId) === 0) this.#activeOf.delete(accountId);
		this.#pump();
		if (this.#active === 0) for (const done of this.#whenIdle.splice(0)) done();
	}

	async #work(accountId: number, group: readonly WaitingHit[]): Promise<void> {
		const giveUpAtMs = monotonicMs() + retryWithinMs;
		for (let attempt = 0; ; attempt++) {
			try {
				const stored = await this.#attempt(accountId, group);
				group.forEach(({ resolve }, index) => {
					resolve(stored[index] as StoredHit);
				});
				return;
			} catch (error) {
				if (isPassing(error) && attempt < mostRetries && monotonicMs() < giveUpAtMs) continue;
				this.#options.onTrouble(error);
				for (const { reject } of group) reject(asStorageError(error));
				return;
			}
		}
	}

	async #attempt(accountId: number, group: readonly WaitingHit[]): Promise<StoredHit[]> {
		const client = await this.#options.pool.acquire(acquireWithinMs);
		let committing = false;
		try {
			const schema = this.#options.schemaOf(accountId);
			const [, stored] = await together([
				client.query(beginWriting),
				runSteps(client, schema, storeHits(group.map(({ hit }) => hit))),
			]);
			committing = true;
			await commit(client);
			if (hasLeftWork(client)) this.#options.onWaiting(accountId);
			client.release();
			return stored;
		} catch (error) {
			client.release(error as Error);
			// It may be stored; tried again, it would count twice.
			if (committing && !isRolledBack(error)) throw new StorageError('outcome unknown', { cause: error });
			throw error;
		}
	}

	/** Resolves when nothing waits and nothing runs. */
	async idle(): Promise<void> {
		if (this.#active > 0 || this.#waiting.size > 0)
			await new Promise<void>((resolve) => {
				this.#whenIdle.push(resolve);
			});
	}
}
