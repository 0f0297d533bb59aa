import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../clock.ts';
import type { Deadline } from '../../deadline.ts';
import { asStorageError, QueueFullError, StorageError, type Upload, type UploadOutcome } from '../store.ts';
import { type ConnectionPool, isDeadlock, isPassing } from './connection.ts';
import { hasLeftWork } from './run-steps.ts';
import { CommitLostError, isStored, mostRows, storeGroup, type WaitingUpload } from './upload-group.ts';

/** Uploads stored in one transaction; more would make the first of them wait for little gain. */
const groupLimit = 32;
/** How often a group is tried again whose transaction was ended by what passes. */
const mostRetries = 2;
/** How long after the last deadline of a group a connection may still come; its own timers answer in time. */
const graceMs = 250;
/** How long the outcome of a lost COMMIT is looked for, in all and at a time. */
const defaultReadBackMs = 10_000;
const readBackOnceMs = 4000;
const readBackEveryMs = 100;

export interface UploadQueueOptions {
	readonly pool: ConnectionPool;
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
	readonly onTrouble: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

/**
 * Uploads that wait for a connection. One that is free takes what waits of one account, and stores it in one
 * transaction; so many uploads share the price of a commit.
 */
export class UploadQueue {
	readonly #options: UploadQueueOptions;
	/** In the order in which accounts take turns. */
	readonly #waiting = new Map<number, WaitingUpload[]>();
	#depth = 0;
	#active = 0;
	/** How many connections work for each account. */
	readonly #activeOf = new Map<number, number>();
	#whenIdle: (() => void)[] = [];

	constructor(options: UploadQueueOptions) {
		this.#options = options;
	}

	get depth(): number {
		return this.#depth;
	}

	/** @throws QueueFullError, StorageError */
	store(accountId: number, upload: Upload, deadline: Deadline): Promise<UploadOutcome | 'expired'> {
		if (this.#depth >= this.#options.length) return Promise.reject(new QueueFullError());
		this.#depth++;
		let decision: 'commit' | 'expired' | undefined;
		const decide = (wish: 'commit' | 'expired') => {
			decision ??= wish;
			return decision === wish;
		};
		const stored = new Promise<UploadOutcome | 'expired'>((resolve, reject) => {
			const waiting: WaitingUpload = {
				upload,
				deadlineMs: deadline.atMs,
				tryCommit: () => decide('commit'),
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
						this.#options.onTrouble(error);
						this.#fail([waiting], error);
					},
				);
		});
		return stored.finally(() => {
			this.#depth--;
		});
	}

	#enqueue(accountId: number, waiting: WaitingUpload): void {
		const queue = this.#waiting.get(accountId);
		if (queue) queue.push(waiting);
		else this.#waiting.set(accountId, [waiting]);
		this.#pump();
	}

	#fail(group: readonly WaitingUpload[], error: unknown): void {
		for (const waiting of group) if (!this.#settleExpired(waiting)) waiting.reject(asStorageError(error));
	}

	#pump(): void {
		while (this.#active < this.#options.connections) {
			const accountId = this.#nextAccount();
			if (accountId === undefined) break;
			this.#active++;
			this.#activeOf.set(accountId, (this.#activeOf.get(accountId) ?? 0) + 1);
			this.#work(accountId, this.#nextGroup(accountId)).finally(() => this.#done(accountId));
		}
	}

	#done(accountId: number): void {
		this.#active--;
		const active = (this.#activeOf.get(accountId) ?? 0) - 1;
		if (active > 0) this.#activeOf.set(accountId, active);
		else this.#activeOf.delete(accountId);
		this.#pump();
		if (this.#active === 0) for (const done of this.#whenIdle.splice(0)) done();
	}

	/** The first that waits and has not half of the connections already: one that is locked leaves some to others. */
	#nextAccount(): number | undefined {
		const most = Math.max(1, Math.floor(this.#options.connections / 2));
		return this.#waiting.keys().find((accountId) => (this.#activeOf.get(accountId) ?? 0) < most);
	}

	/** An account's next uploads that can go together; simulated ones go alone, since they are undone. */
	#nextGroup(accountId: number): WaitingUpload[] {
		const all = this.#waiting.get(accountId) ?? [];
		this.#waiting.delete(accountId);
		const live = all.filter((waiting) => !this.#settleExpired(waiting));
		let rows = 0;
		let size = 0;
		for (const { upload } of live) {
			if (size === groupLimit || (size > 0 && (upload.simulate || rows + upload.events.length > mostRows)))
				break;
			rows += upload.events.length;
			size++;
			if (upload.simulate) break;
		}
		if (live.length > size) this.#waiting.set(accountId, live.slice(size));
		return live.slice(0, size);
	}

	#settleExpired(waiting: WaitingUpload): boolean {
		const expired = waiting.isExpired();
		if (expired) waiting.resolve('expired');
		return expired;
	}

	async #work(accountId: number, whole: WaitingUpload[]): Promise<void> {
		let group = whole;
		let retries = 0;
		while (group.length > 0) {
			const startedAtMs = monotonicMs();
			try {
				const outcomes = await this.#attempt(accountId, group);
				if (outcomes !== 'again') {
					this.#options.onCommit({ size: group.length, seconds: (monotonicMs() - startedAtMs) / 1000 });
					group.forEach((waiting, index) => {
						waiting.resolve(outcomes[index] as UploadOutcome);
					});
					return;
				}
			} catch (error) {
				this.#options.onTrouble(error);
				if (!isPassing(error) || retries++ === mostRetries) {
					this.#fail(group, error);
					return;
				}
			}
			group = group.filter((waiting) => !this.#settleExpired(waiting));
		}
	}

	/** @throws where nothing was stored, or what is stored cannot be known */
	async #attempt(accountId: number, group: readonly WaitingUpload[]): Promise<UploadOutcome[] | 'again'> {
		const lastDeadlineMs = Math.max(...group.map(({ deadlineMs }) => deadlineMs));
		const client = await this.#options.pool.acquire(lastDeadlineMs - monotonicMs() + graceMs);
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
			if (hasLeftWork(client)) this.#options.onWaiting(accountId);
			client.release();
			return outcomes;
		} catch (error) {
			client.release(error as Error);
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
	async idle(): Promise<void> {
		if (this.#active > 0 || this.#waiting.size > 0)
			await new Promise<void>((resolve) => {
				this.#whenIdle.push(resolve);
			});
	}
}
