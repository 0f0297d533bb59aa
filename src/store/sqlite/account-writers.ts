import { handlesOfDatabase, maxFileHandles } from '../file-handles.ts';
import { QueueBounds, Writer, type WriterOptions } from './writer.ts';

/** Several, so that commits of different accounts wait for the disk at the same time. A thread costs some 10 MiB. */
const maxThreads = 4;
/** The maximum number of requests that wait for all writer threads. */
const queueLength = 8192;
/** The maximum number of characters that wait for all writer threads: about 64 to 128 MiB. */
const queueCharacters = 64 * 1024 * 1024;
/** The maximum number of open accounts' databases: 0.25 MiB of memory each. */
const maxOpenAccounts = 256;
/** Share of the process's file handles; the others are for connections and reads. */
const shareOfHandles = 1 / 2;

/**
 * The writer threads of the accounts' databases. Each account always belongs to the same thread, so it has one writer.
 */
export class AccountWriters {
	readonly #bounds: QueueBounds;
	readonly #writers: readonly Writer[];

	private constructor(bounds: QueueBounds, writers: readonly Writer[]) {
		this.#bounds = bounds;
		this.#writers = writers;
	}

	/** @param accounts the number of accounts; no more threads than that are started */
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

	/** The thread that writes to an account's database. */
	of(accountId: number): Writer {
		return this.#writers[accountId % this.#writers.length] as Writer;
	}

	/** Number of requests that have not been answered. */
	get depth(): number {
		return this.#bounds.waiting;
	}

	async stop(): Promise<void> {
		await Promise.all(this.#writers.map((writer) => writer.stop()));
	}
}
