import { monotonicMs } from '../../clock.ts';
import type { ArrivingHit, StoredHit } from '../../domain/hit.ts';
import { asStorageError, reasonOf, StorageError } from '../../errors.ts';
import { storeHits } from '../account/visitor-log.ts';
import {
	beginWriting,
	commit,
	isRolledBack,
	isTransient,
	type PostgresPool,
	together,
} from './connection.ts';
import { hasBackgroundWork, runSteps } from './run-steps.ts';
import { type Turn, Turns } from './turns.ts';

/** Hits stored in one transaction; more would make the first of them wait for little gain. */
const groupLimit = 64;
/** How often, and until when, a group is tried again whose transaction was ended by what passes. */
const maxRetries = 3;
const retryWithinMs = 4000;
const acquireWithinMs = 5000;
/** A page is not there any more for what comes later. */
const waitAtMostMs = 10_000;

export interface HitQueueOptions {
	readonly pool: PostgresPool;
	/** The schema that an account's hits are in. */
	readonly schemaOf: (accountId: number) => string;
	/** What must be over before the schema is used; absent where there is nothing to wait for. */
	readonly beforeUse?: (accountId: number) => Promise<void> | undefined;
	/** Transactions at a time; half of them for one account. */
	readonly connections: number;
	/** Hits that may wait, at most. */
	readonly length: number;
	readonly onError: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

interface QueuedHit {
	readonly hit: ArrivingHit;
	/** When it began to wait, by `monotonicMs()`. */
	readonly sinceMs: number;
	readonly resolve: (stored: StoredHit) => void;
	readonly reject: (error: Error) => void;
}

/**
 * Hits that wait for a connection. One that is free takes what waits of one account, and stores it in one
 * transaction; so many hits share the price of a commit.
 */
export class HitQueue {
	readonly #options: HitQueueOptions;
	readonly #turns: Turns<QueuedHit>;

	constructor(options: HitQueueOptions) {
		this.#options = options;
		const { connections: places, length } = options;
		this.#turns = new Turns({ places, length, work: (turn) => this.#work(turn) });
	}

	get depth(): number {
		return this.#turns.depth;
	}

	/** @throws QueueFullError, StorageError */
	store(accountId: number, hit: ArrivingHit): Promise<StoredHit> {
		return this.#turns.enter(accountId, async () => {
			await this.#beforeUse(accountId);
			return new Promise((resolve, reject) => {
				this.#turns.add(accountId, { hit, sinceMs: monotonicMs(), resolve, reject });
				// A moment later, so that hits that arrive together go together.
				setImmediate(() => this.#turns.pump());
			});
		});
	}

	async #beforeUse(accountId: number): Promise<void> {
		try {
			await this.#options.beforeUse?.(accountId);
		} catch (error) {
			this.#options.onError(reasonOf(error));
			throw error;
		}
	}

	/** The account's next hits; those that have waited too long get no more than their answer. */
	#nextGroup(accountId: number): QueuedHit[] {
		const longAgoMs = monotonicMs() - waitAtMostMs;
		const all = this.#turns.take(accountId);
		for (const { sinceMs, reject } of all)
			if (sinceMs < longAgoMs) reject(new StorageError("the account's database is too slow"));
		const live = all.filter(({ sinceMs }) => sinceMs >= longAgoMs);
		this.#turns.putBack(accountId, live.slice(groupLimit));
		return live.slice(0, groupLimit);
	}

	async #work(turn: Turn): Promise<void> {
		const group = this.#nextGroup(turn.accountId);
		if (group.length === 0) return;
		const giveUpAtMs = monotonicMs() + retryWithinMs;
		for (let attempt = 0; ; attempt++) {
			try {
				const stored = await this.#attempt(turn, group);
				group.forEach(({ resolve }, index) => {
					resolve(stored[index] as StoredHit);
				});
				return;
			} catch (error) {
				if (isTransient(error) && turn.isEnded) {
					this.#options.onError(turn.endError());
					this.#turns.putBack(turn.accountId, group);
					return;
				}
				if (isTransient(error) && attempt < maxRetries && monotonicMs() < giveUpAtMs) continue;
				this.#options.onError(error);
				for (const { reject } of group) reject(asStorageError(error));
				return;
			}
		}
	}

	async #attempt(turn: Turn, group: readonly QueuedHit[]): Promise<StoredHit[]> {
		const { accountId } = turn;
		const client = await this.#options.pool.acquire(acquireWithinMs);
		let committing = false;
		turn.endBy(() => {
			if (!committing) this.#options.pool.cut(client);
		});
		try {
			const schema = this.#options.schemaOf(accountId);
			const [, stored] = await together([
				client.query(beginWriting),
				runSteps(client, schema, storeHits(group.map(({ hit }) => hit))),
			]);
			committing = true;
			await commit(client);
			if (hasBackgroundWork(client)) this.#options.onWaiting(accountId);
			client.release();
			return stored;
		} catch (error) {
			client.release(turn.isEnded || (error as Error));
			// It may be stored; tried again, it would count twice.
			if (committing && !isRolledBack(error)) throw new StorageError('outcome unknown', { cause: error });
			throw error;
		}
	}

	/** Resolves when nothing waits and nothing runs. */
	idle(): Promise<void> {
		return this.#turns.idle();
	}
}
