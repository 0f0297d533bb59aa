import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { monotonicMs } from '../../clock.ts';
import type { Deadline } from '../../deadline.ts';
import { QueueFullError, StorageError, type Upload, type UploadOutcome } from '../store.ts';
import { CommitLostError, mostRows, storeGroup, type WaitingUpload } from './upload-group.ts';

/** Uploads stored in one transaction; more would make the first of them wait for little gain. */
const groupLimit = 32;
/** How long after the last deadline of a group the server may still be silent before its connection is given up. */
const graceMs = 250;
/** How long the outcome of a lost COMMIT is looked for. */
const readBackMs = 10_000;
const readBackEveryMs = 100;

export interface UploadQueueOptions {
	readonly pool: pg.Pool;
	/** Transactions at a time; leaves the pool connections for other work. */
	readonly connections: number;
	/** Uploads that may wait, at most. */
	readonly length: number;
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onTrouble: (reason: string) => void;
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
			const queue = this.#waiting.get(accountId);
			if (queue) queue.push(waiting);
			else this.#waiting.set(accountId, [waiting]);
		});
		this.#pump();
		return stored.finally(() => {
			this.#depth--;
		});
	}

	#pump(): void {
		while (this.#active < this.#options.connections && this.#waiting.size > 0) {
			this.#active++;
			this.#work().finally(() => {
				this.#active--;
				this.#pump();
				if (this.#active === 0) for (const done of this.#whenIdle.splice(0)) done();
			});
		}
	}

	/** The next account's uploads that can go together; simulated ones go alone, since they are undone. */
	#nextGroup(): { accountId: number; group: WaitingUpload[] } | undefined {
		const [accountId, all] = this.#waiting.entries().next().value ?? [];
		if (accountId === undefined || !all) return undefined;
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
		return { accountId, group: live.slice(0, size) };
	}

	#settleExpired(waiting: WaitingUpload): boolean {
		const expired = waiting.isExpired();
		if (expired) waiting.resolve('expired');
		return expired;
	}

	async #work(): Promise<void> {
		const next = this.#nextGroup();
		if (!next) return;
		let { group } = next;
		while (group.length > 0) {
			const startedAtMs = monotonicMs();
			try {
				const outcomes = await this.#attempt(next.accountId, group);
				if (outcomes !== 'again') {
					this.#options.onCommit({ size: group.length, seconds: (monotonicMs() - startedAtMs) / 1000 });
					group.forEach((waiting, index) => {
						waiting.resolve(outcomes[index] as UploadOutcome);
					});
					return;
				}
				group = group.filter((waiting) => !this.#settleExpired(waiting));
			} catch (error) {
				this.#options.onTrouble(reasonOf(error));
				for (const waiting of group) if (!this.#settleExpired(waiting)) waiting.reject(asStorageError(error));
				return;
			}
		}
	}

	async #attempt(accountId: number, group: readonly WaitingUpload[]): Promise<UploadOutcome[] | 'again'> {
		const lastDeadlineMs = Math.max(...group.map(({ deadlineMs }) => deadlineMs));
		const client = await this.#options.pool.connect();
		const timeoutMs = lastDeadlineMs - monotonicMs();
		// A server that has fallen silent: the connection is cut, the requests have their answers already.
		const cut = setTimeout(
			() => client.release(new Error('the database does not answer')),
			timeoutMs + graceMs,
		);
		let released = false;
		const release = (broken?: Error) => {
			clearTimeout(cut);
			if (!released) client.release(broken);
			released = true;
		};
		try {
			const simulate = group.some(({ upload }) => upload.simulate);
			const outcomes = await storeGroup(client, accountId, group, timeoutMs, simulate);
			release();
			return outcomes;
		} catch (error) {
			release(error as Error);
			if (isDeadlock(error)) return 'again';
			if (!(error instanceof CommitLostError)) throw error;
			return this.#readBack(error);
		}
	}

	/**
	 * Looks up what became of a transaction whose COMMIT was sent and never answered.
	 * @throws StorageError where it was rolled back, or where even that cannot be known in time
	 */
	async #readBack({ transactionId, outcomes }: CommitLostError): Promise<UploadOutcome[]> {
		const giveUpAtMs = monotonicMs() + readBackMs;
		while (monotonicMs() < giveUpAtMs) {
			const status = await this.#transactionStatus(transactionId).catch(() => 'unreachable');
			if (status === 'committed') return outcomes;
			if (status === 'aborted') throw new StorageError('the transaction was rolled back');
			await sleep(readBackEveryMs);
		}
		throw new StorageError('outcome unknown; retrying is safe');
	}

	async #transactionStatus(transactionId: string): Promise<string> {
		const { rows } = await this.#options.pool.query('SELECT pg_xact_status($1::xid8) AS status', [
			transactionId,
		]);
		return rows[0].status;
	}

	/** Resolves when nothing waits and nothing runs. */
	async idle(): Promise<void> {
		if (this.#active > 0 || this.#waiting.size > 0)
			await new Promise<void>((resolve) => {
				this.#whenIdle.push(resolve);
			});
	}
}

/**
 * Two transactions that share tids in different orders wait for each other until the server ends one of them. Rare:
 * a retry has the order of what it repeats. Sorting rows would avoid it, and lose the order of arrival.
 */
function isDeadlock(error: unknown): boolean {
	return (error as { code?: unknown }).code === '40P01';
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

function asStorageError(error: unknown): StorageError {
	return error instanceof StorageError ? error : new StorageError(reasonOf(error), { cause: error });
}
