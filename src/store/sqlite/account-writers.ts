import type { MessagePort } from 'node:worker_threads';
import { monotonicMs } from '../../clock.ts';
import type { Deadline } from '../../deadline.ts';
import type { ArrivingHit, StoredHit } from '../../domain/hit.ts';
import { StorageError } from '../../errors.ts';
import { handlesOfDatabase, maxFileHandles } from '../file-handles.ts';
import type { AccountWrites, Upload, UploadOutcome, WriterLink } from '../store.ts';
import type { WriterEnd } from './messages.ts';
import { packUpload } from './packed-events.ts';
import { QueueBounds } from './queue-bounds.ts';
import { RunningWriter, type RunningWriterOptions } from './running-writer.ts';
import { type OnCommit, Writer } from './writer.ts';

/** Several, so that commits of different accounts wait for the disk at the same time. A thread costs some 10 MiB. */
const maxThreads = 4;
/** What may wait for the writer threads together; so many characters are about 64 to 128 MiB. */
const bounds = { length: 8192, maxCharacters: 64 * 1024 * 1024 };
/** The maximum number of open accounts' databases: 0.25 MiB of memory each. */
const maxOpenAccounts = 256;
/** Share of the process's file handles; the others are for connections and reads. */
const shareOfHandles = 1 / 2;
const hitTimeoutMs = 5000;

/** How a thread reaches the writer threads. */
export interface AccountWritersLink extends WriterLink {
	readonly ends: readonly WriterEnd[];
	readonly boundsBuffer: SharedArrayBuffer;
	readonly transfer: readonly MessagePort[];
}

/** The writer threads of accounts' databases, for the thread that has started them. */
export class RunningAccountWriters {
	readonly #bounds = new QueueBounds(bounds);
	readonly #writers: readonly RunningWriter[];

	private constructor(writers: readonly RunningWriter[]) {
		this.#writers = writers;
	}

	/** @param accounts the number of accounts; no more threads than that are started */
	static async start(
		accounts: number,
		options: Omit<RunningWriterOptions, 'openDatabases'>,
	): Promise<RunningAccountWriters> {
		const threads = Math.max(1, Math.min(maxThreads, accounts));
		const open = Math.min(maxOpenAccounts, (maxFileHandles() * shareOfHandles) / handlesOfDatabase);
		const all = { ...options, openDatabases: Math.max(1, Math.floor(open / threads)) };
		const started = Array.from({ length: threads }, () => RunningWriter.start(all));
		return new RunningAccountWriters(await Promise.all(started));
	}

	/** For one thread that writes. */
	connect(): AccountWritersLink {
		const ends = this.#writers.map((writer) => writer.connect(this.#bounds));
		return { ends, boundsBuffer: this.#bounds.buffer, transfer: ends.map(({ port }) => port) };
	}

	/** Requests handed over by all threads, and not yet answered. */
	get depth(): number {
		return this.#bounds.waiting;
	}

	async stop(): Promise<void> {
		await Promise.all(this.#writers.map((writer) => writer.stop()));
	}
}

/** Writes to accounts' databases. Each account belongs to one of the writer threads for good, so it has one writer. */
export class AccountWriters implements AccountWrites {
	readonly #writers: readonly Writer[];

	constructor({ ends, boundsBuffer }: AccountWritersLink, onCommit: OnCommit) {
		const shared = new QueueBounds(bounds, boundsBuffer);
		this.#writers = ends.map((end) => new Writer(end, shared, onCommit));
	}

	#of(accountId: number): Writer {
		return this.#writers[accountId % this.#writers.length] as Writer;
	}

	storeSubscriptionEvents(
		accountId: number,
		upload: Upload,
		deadline: Deadline,
	): Promise<UploadOutcome | 'expired'> {
		const packed = packUpload(upload);
		const characters = packed.fields.length;
		const { atMs: deadlineMs } = deadline;
		return this.#of(accountId).submit(accountId, 'storeSubscriptionEvents', packed, {
			deadlineMs,
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

	/** Hands over what waits here; needed before the writer threads are told to stop. */
	flush(): void {
		for (const writer of this.#writers) writer.flush();
	}
}
