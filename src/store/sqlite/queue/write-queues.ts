import { monotonicMs } from '../../../clock.ts';
import type { Deadline } from '../../../deadline.ts';
import type { ArrivingHit, StoredHit } from '../../../domain/hit.ts';
import { StorageError } from '../../../errors.ts';
import type { UploadOutcome } from '../../account/arriving/events.ts';
import { handlesOfDatabase, maxFileHandles } from '../../file-handles.ts';
import type { AccountWrites, Upload } from '../../store.ts';
import type { ControlCommands } from './commands.ts';
import { controlDatabaseId } from './messages.ts';
import { packUpload } from './packed-events.ts';
import { WriteQueue, type WriteQueueOptions } from './write-queue.ts';

/** Several, so that commits of different accounts wait for the disk at the same time. A thread costs some 10 MiB. */
const maxThreads = 4;
/** The maximum number of open accounts' databases: 0.25 MiB of memory each. */
const maxOpenAccounts = 256;
/** Share of the process's file handles; the others are for connections and reads. */
const shareOfHandles = 1 / 2;
const hitTimeoutMs = 5000;
/** Requests to the control database are small, and are not refused because uploads wait. */
const maxControlWaiting = 1024;

/**
 * Writes to all databases of a folder. Each belongs to one of the writer threads for good, so it has one writer.
 */
export class WriteQueues implements AccountWrites {
	readonly #queues: readonly WriteQueue[];
	// So many characters are about 64 to 128 MiB.
	readonly #bounds = { maxWaiting: 8192, maxCharacters: 64 * 1024 * 1024, waiting: 0, characters: 0 };
	readonly #controlBounds = {
		...{ maxWaiting: maxControlWaiting, maxCharacters: 1024 * 1024 },
		...{ waiting: 0, characters: 0 },
	};

	/** @param accounts the number of accounts; no more threads than that are started */
	constructor(accounts: number, options: Omit<WriteQueueOptions, 'openDatabases' | 'slots' | 'name'>) {
		const threads = Math.max(1, Math.min(maxThreads, accounts));
		const open = Math.min(maxOpenAccounts, (maxFileHandles() * shareOfHandles) / handlesOfDatabase);
		const openDatabases = Math.max(1, Math.floor(open / threads));
		const slots = this.#bounds.maxWaiting + maxControlWaiting;
		this.#queues = Array.from(
			{ length: threads },
			() => new WriteQueue({ ...options, name: 'writer', openDatabases, slots }),
		);
	}

	#of(databaseId: number): WriteQueue {
		return this.#queues[databaseId % this.#queues.length] as WriteQueue;
	}

	/** Gives up when the control database stays locked. */
	async control<Name extends keyof ControlCommands>(
		command: Name,
		input: Parameters<ControlCommands[Name]>[1],
		timeoutMs: number,
	): Promise<ReturnType<ControlCommands[Name]>['value']> {
		const options = { deadlineMs: monotonicMs() + timeoutMs, bounds: this.#controlBounds };
		const value = await this.#of(controlDatabaseId).submit(
			controlDatabaseId,
			command,
			input as never,
			options,
		);
		if (value === 'expired') throw new StorageError('the control database is locked');
		return value as ReturnType<ControlCommands[Name]>['value'];
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
			bounds: this.#bounds,
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
			{ deadlineMs, bounds: this.#bounds, characters },
		);
		if (stored === 'expired') throw new StorageError('the hit could not be stored in time');
		return stored;
	}

	/** Requests to accounts that are not yet answered. */
	get depth(): number {
		return this.#bounds.waiting;
	}

	async stop(): Promise<void> {
		await Promise.all(this.#queues.map((queue) => queue.stop()));
	}
}
