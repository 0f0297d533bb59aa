import { handlesOfDatabase, maxFileHandles } from '../file-handles.ts';
import { QueueBounds, Writer, type WriterOptions } from './writer.ts';

/** So that commits of different accounts wait for the disk at the same time. A thread costs some 10 MiB. */
const maxThreads = 4;
/** Requests that may wait for the writer threads together. */
const queueLength = 8192;
/** Characters that may wait for them together: about 64 to 128 MiB. */
const queueCharacters = 64 * 1024 * 1024;
/** Accounts' databases that are kept open together, at most: 0.25 MiB of memory each. */
const maxOpenAccounts = 256;
/** Of the handles that the process may have; the others are for connections and reads. */
const shareOfHandles = 1 / 2;

/** The writer threads of accounts' databases. Each account belongs to one of them for good, so it has one writer. */
export class AccountWriters {
	readonly #bounds: QueueBounds;
	readonly #writers: readonly Writer[];

	private constructor(bounds: QueueBounds, writers: readonly Writer[]) {
		this.#bounds = bounds;
		this.#writers = writers;
	}

	/** @param accounts how many there are; threads that none of them needs are not started */
	static async start(
		accounts: number,
		options: Omit<WriterOptions, 'bounds' | 'openDatabases'>,
	): Promise<AccountWriters> {
		const threads = Math.max(1, Math.min(maxThreads, accounts));
		const bounds = new QueueBounds(queueLength, queueCharacters);
		const open = Math.min(maxOpenAccounts, (maxFileHandles() * shareOfHandles) / handlesOfDatabase);
		const all = {
			...options,
			bounds,
			openDatabases: Math.max(1, Math.floor(open / threads)),
		};
		const started = Array.from({ length: threads }, () => Writer.start(all));
		return new AccountWriters(bounds, await Promise.all(started));
	}

	/** The one that writes to an account's database. */
	of(accountId: number): Writer {
		return this.#writers[accountId % this.#writers.length] as Writer;
	}

	/** Requests handed over and not yet answered. */
	get depth(): number {
		return this.#bounds.waiting;
	}

	async stop(): Promise<void> {
		await Promise.all(this.#writers.map((writer) => writer.stop()));
	}
}
