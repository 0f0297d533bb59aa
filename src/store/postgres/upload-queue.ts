import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../clock.ts';
import type { Deadline } from '../../deadline.ts';
import { asStorageError, StorageError } from '../../errors.ts';
import type { Upload, UploadOutcome } from '../store.ts';
import { isDeadlock, isTransient, type PostgresPool } from './connection.ts';
import { hasBackgroundWork } from './run-steps.ts';
import { type Turn, Turns } from './turns.ts';
import { CommitLostError, isStored, maxRows, storeGroup, type WaitingUpload } from './upload-group.ts';

/** Uploads stored in one transaction; more would make the first of them wait for little gain. */
const groupLimit = 32;
/** How often a group is tried again whose transaction was ended by what passes. */
const maxRetries = 2;
/** How long after the last deadline of a group a connection may still come; its own timers answer in time. */
const graceMs = 250;
/** How long the outcome of a lost COMMIT is looked for, in all and at a time. */
const defaultReadBackMs = 10_000;
const readBackOnceMs = 4000;
const readBackEveryMs = 100;

export interface UploadQueueOptions {
	readonly pool: PostgresPool;
	/** The schema that an account's events are in. */
	readonly schemaOf: (accountId: number) => string;
	/** What must be over before the schema is used; absent where there is nothing to wait for. */
	readonly beforeUse?: (accountId: number) => Promise<void> | undefined;
	/** Transactions at a time, as many as the pool has connections; half of them for one account. */
	readonly connections: number;
	/** Uploads that may wait, at most. */
	readonly length: number;
	/** How long the outcome of a lost COMMIT is looked for. */
	readonly readBackMs?: number;
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onError: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

/**
 * Uploads that wait for a connection. One that is free takes what waits of one account, and stores it in one
 * transaction; so many uploads share the price of a commit.
 */
export class UploadQueue {
	readonly #options: UploadQueueOptions;
	readonly #turns: Turns<WaitingUpload>;

	constructor(options: UploadQueueOptions) {
		this.#options = options;
		const { connections: places, length } = options;
		this.#turns = new Turns({ places, length, work: (turn) => this.#work(turn) });
	}

	get depth(): number {
		return this.#turns.depth;
	}

	/** @throws QueueFullError, StorageError */
	store(accountId: number, upload: Upload, deadline: Deadline): Promise<UploadOutcome | 'expired'> {
		return this.#turns.enter(accountId, () => this.#store(accountId, upload, deadline));
	}

	#store(accountId: number, upload: Upload, deadline: Deadline): Promise<UploadOutcome | 'expired'> {
		let decision: 'commit' | 'expired' | undefined;
		const decide = (wish: 'commit' | 'expired') => {
			decision ??= wish;
			return decision === wish;
		};
		return new Promise((resolve, reject) => {
			const waiting: WaitingUpload = {
				upload,
				deadlineMs: deadline.atMs,
				tryCommit: () => decide('commit'),
				isCommitting: () => decision === 'commit',
				isExpired: () => decision === 'expired' || (monotonicMs() >= deadline.atMs && decide('expired')),
				resolve,
				reject,
			};
			deadline.decideBy(() => {
				if (!decide('expired')) return false;
				resolve('expired');
				return true;
			});
			const before = this.#options.beforeUse?.(accountId);
			if (!before) this.#enqueue(accountId, waiting);
			else
				before.then(
					() => this.#enqueue(accountId, waiting),
					(error) => {
						this.#options.onError(error);
						this.#fail([waiting], error);
					},
				);
		});
	}

	#enqueue(accountId: number, waiting: WaitingUpload): void {
		this.#turns.add(accountId, waiting);
		this.#turns.pump();
	}

	#fail(group: readonly WaitingUpload[], error: unknown): void {
		for (const waiting of group) if (!this.#settleExpired(waiting)) waiting.reject(asStorageError(error));
	}

	/** An account's next uploads that can go together; simulated ones go alone, since they are undone. */
	#nextGroup(accountId: number): WaitingUpload[] {
		const live = this.#turns.take(accountId).filter((waiting) => !this.#settleExpired(waiting));
		let rows = 0;
		let size = 0;
		for (const { upload } of live) {
			if (size === groupLimit || (size > 0 && (upload.simulate || rows + upload.events.length > maxRows)))
				break;
			rows += upload.events.length;
			size++;
			if (upload.simulate) break;
		}
		this.#turns.putBack(accountId, live.slice(size));
		return live.slice(0, size);
	}

	#settleExpired(waiting: WaitingUpload): boolean {
		const expired = waiting.isExpired();
		if (expired) waiting.resolve('expired');
		return expired;
	}

	async #work(turn: Turn): Promise<void> {
		let group = this.#nextGroup(turn.accountId);
		let retries = 0;
		while (group.length > 0) {
			const startedAtMs = monotonicMs();
			try {
				const outcomes = await this.#attempt(turn, group);
				if (outcomes !== 'again') {
					this.#options.onCommit({ size: group.length, seconds: (monotonicMs() - startedAtMs) / 1000 });
					group.forEach((waiting, index) => {
						waiting.resolve(outcomes[index] as UploadOutcome);
					});
					return;
				}
			} catch (error) {
				if (isTransient(error) && turn.isEnded) {
					this.#options.onError(turn.endError());
					this.#turns.putBack(turn.accountId, group);
					return;
				}
				this.#options.onError(error);
				if (!isTransient(error) || retries++ === maxRetries) {
					this.#fail(group, error);
					return;
				}
			}
			group = group.filter((waiting) => !this.#settleExpired(waiting));
		}
	}

	/** @throws where nothing was stored, or what is stored cannot be known */
	async #attempt(turn: Turn, group: readonly WaitingUpload[]): Promise<UploadOutcome[] | 'again'> {
		const { accountId } = turn;
		const lastDeadlineMs = Math.max(...group.map(({ deadlineMs }) => deadlineMs));
		const client = await this.#options.pool.acquire(lastDeadlineMs - monotonicMs() + graceMs);
		turn.endBy(() => {
			if (!group.some((waiting) => waiting.isCommitting())) this.#options.pool.cut(client);
		});
		try {
			const simulate = group.some(({ upload }) => upload.simulate);
			const timeoutMs = lastDeadlineMs - monotonicMs();
			const outcomes = await storeGroup(
				client,
				this.#options.schemaOf(accountId),
				group,
				timeoutMs,
				simulate,
			);
			if (hasBackgroundWork(client)) this.#options.onWaiting(accountId);
			client.release();
			return outcomes;
		} catch (error) {
			client.release(turn.isEnded || (error as Error));
			if (isDeadlock(error)) return 'again';
			if (error instanceof CommitLostError) return this.#readBack(accountId, error);
			throw error;
		}
	}

	/**
	 * Finds out what became of a transaction whose COMMIT was sent and never answered.
	 * @throws StorageError where it was rolled back, or where even that cannot be known in time
	 */
	async #readBack(accountId: number, { outcomes, fresh }: CommitLostError): Promise<UploadOutcome[]> {
		const giveUpAtMs = monotonicMs() + (this.#options.readBackMs ?? defaultReadBackMs);
		while (monotonicMs() < giveUpAtMs) {
			const stored = await this.#isStored(accountId, fresh).catch(() => undefined);
			if (stored === true) return outcomes;
			if (stored === false) throw new StorageError('the transaction was rolled back');
			await sleep(readBackEveryMs);
		}
		throw new StorageError('outcome unknown; retrying is safe');
	}

	async #isStored(accountId: number, fresh: CommitLostError['fresh']): Promise<boolean> {
		const client = await this.#options.pool.acquire(readBackOnceMs);
		try {
			const stored = await isStored(client, this.#options.schemaOf(accountId), fresh, readBackOnceMs);
			client.release();
			return stored;
		} catch (error) {
			client.release(error as Error);
			throw error;
		}
	}

	/** Resolves when nothing waits and nothing runs. */
	idle(): Promise<void> {
		return this.#turns.idle();
	}
}
