import { monotonicMs } from '../../../clock.ts';
import type { Deadline } from '../../../deadline.ts';
import type { ArrivingHit, StoredHit } from '../../../domain/hit.ts';
import { StorageError } from '../../../errors.ts';
import type { UploadOutcome } from '../../account/arriving/events.ts';
import { handlesOfDatabase, maxFileHandles } from '../../file-handles.ts';
import type { AccountWrites, Upload } from '../../store.ts';
import { packUpload } from './packed-events.ts';
import { type QueueBounds, WriteQueue, type WriteQueueOptions } from './write-queue.ts';

/** Several, so that commits of different accounts wait for the disk at the same time. A thread costs some 10 MiB. */
const maxThreads = 4;
/** The maximum number of open accounts' databases: 0.25 MiB of memory each. */
const maxOpenAccounts = 256;
/** Share of the process's file handles; the others are for connections and reads. */
const shareOfHandles = 1 / 2;
const hitTimeoutMs = 5000;

/** Writes to accounts' databases. Each account belongs to one of the writer threads for good, so it has one writer. */
export class AccountQueues implements AccountWrites {
	readonly #queues: readonly WriteQueue[];
	readonly #bounds: QueueBounds;

	private constructor(queues: readonly WriteQueue[], bounds: QueueBounds) {
		this.#queues = queues;
		this.#bounds = bounds;
	}

	/** @param accounts the number of accounts; no more threads than that are started */
	static async start(
		accounts: number,
		options: Omit<WriteQueueOptions, 'openDatabases' | 'bounds' | 'name'>,
	): Promise<AccountQueues> {
		const threads = Math.max(1, Math.min(maxThreads, accounts));
		const open = Math.min(maxOpenAccounts, (maxFileHandles() * shareOfHandles) / handlesOfDatabase);
		const openDatabases = Math.max(1, Math.floor(open / threads));
		// So many characters are about 64 to 128 MiB.
		const bounds = { maxWaiting: 8192, maxCharacters: 64 * 1024 * 1024, waiting: 0, characters: 0 };
		const queues = Array.from({ length: threads }, () =>
			WriteQueue.start({ ...options, name: 'writer', openDatabases, bounds }),
		);
		return new AccountQueues(await Promise.all(queues), bounds);
	}

	#of(accountId: number): WriteQueue {
		return this.#queues[accountId % this.#queues.length] as WriteQueue;
	}

	storeSubscriptionEvents(
		accountId: number,
		upload: Upload,
		deadline: Deadline,
	): Promise<UploadOutcome | 'expired'> {
		const packed = packUpload(upload);
		const characters = packed.fields.length;
		return this.#of(accountId).submit(accountId, 'storeSubscriptionEvents', packed, {
			deadlineMs: deadline.atMs,
			deadline,
			characters,
		});
	}

	async storeHit(accountId: number, { body, ...hit }: ArrivingHit): Promise<StoredHit> {
		const text = JSON.stringify(body);
		const characters = 1000 + text.length;
		const deadlineMs = monotonicMs() + hitTimeoutMs;
		const stored = await this.#of(accountId).submit(
			accountId,
			'storeHit',
			{ ...hit, text },
			{ deadlineMs, characters },
		);
		if (stored === 'expired') throw new StorageError('the hit could not be stored in time');
		return stored;
	}

	/** Requests that are not yet answered. */
	get depth(): number {
		return this.#bounds.waiting;
	}

	async stop(): Promise<void> {
		await Promise.all(this.#queues.map((queue) => queue.stop()));
	}
}
