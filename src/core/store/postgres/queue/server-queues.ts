import type { TablesOf } from '../engine/account-tables.ts';
import { type PoolOptions, PostgresPool } from '../engine/postgres-connection.ts';
import { hitGroups, type WaitingHit } from './hit-group.ts';
import { WriteQueue } from './postgres-write-queue.ts';
import { uploadGroups } from './upload-group.ts';
import type { WaitingUpload } from './waiting-upload.ts';

/** For uploads: one transaction per connection. The deadline of an upload limits its statements further. */
const uploadPool: Omit<PoolOptions, 'size'> = {
	connectTimeoutMs: 1500,
	statementTimeoutMs: 10_000,
	idleInTransactionMs: 2000,
	writesOnlyBegun: true,
	prepares: true,
};
/** For hits. A pool of their own, so that hits and uploads do not wait for each other. */
const hitPool: Omit<PoolOptions, 'size'> = {
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
	writesOnlyBegun: true,
	prepares: true,
};

/** How long a server that has refused a connection may take to accept one. */
const reachMs = 900;

export interface ServerQueuesOptions {
	readonly address: string;
	/** The number of connections for uploads, and for hits. */
	readonly connections: number;
	readonly tablesOf: TablesOf;
	/** Makes an account's schema ready; undefined where it is. */
	readonly beforeUse: (accountId: number) => Promise<void> | undefined;
	/** The maximum number of waiting uploads, and of waiting hits. */
	readonly length: number;
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onError: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

/** The write queues of one database server, with their connections. A slow or lost server delays no other. */
export class ServerQueues {
	readonly uploads: WriteQueue<WaitingUpload>;
	readonly hits: WriteQueue<WaitingHit>;
	readonly #pools: readonly PostgresPool[];

	constructor({ address, tablesOf, ...options }: ServerQueuesOptions) {
		const [forUploads, forHits] = [
			new PostgresPool(address, { ...uploadPool, size: options.connections }, options.onError),
			new PostgresPool(address, { ...hitPool, size: options.connections }, options.onError),
		];
		this.#pools = [forUploads, forHits];
		this.uploads = new WriteQueue(uploadGroups(tablesOf), {
			...options,
			pool: forUploads,
		});
		this.hits = new WriteQueue(hitGroups(tablesOf), {
			...options,
			// The commit metrics are of uploads.
			onCommit: () => {},
			pool: forHits,
		});
	}

	get depth(): number {
		return this.uploads.depth + this.hits.depth;
	}

	/** @throws NoConnectionError where the server still accepts none */
	async reach(): Promise<void> {
		for (const pool of this.#pools) (await pool.acquire(reachMs)).release();
	}

	/** Waits until both queues are empty. */
	async close(): Promise<void> {
		await Promise.all([this.uploads.idle(), this.hits.idle()]);
		await Promise.all(this.#pools.map((pool) => pool.end()));
	}
}
