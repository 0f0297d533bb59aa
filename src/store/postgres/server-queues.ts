import { type PoolOptions, PostgresPool } from './connection.ts';
import { HitQueue } from './hit-queue.ts';
import { UploadQueue } from './upload-queue.ts';

/** For uploads, one transaction on each; the deadline of what it stores limits each statement further. */
const uploadPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 10_000,
	idleInTransactionMs: 2000,
	writesOnlyBegun: true,
};
/** For hits, beside uploads, so that neither waits for the other. */
const hitPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
	writesOnlyBegun: true,
};

export interface ServerQueuesOptions {
	readonly address: string;
	readonly schemaOf: (accountId: number) => string;
	/** What must be over before an account's schema is used. */
	readonly beforeUse: (accountId: number) => Promise<void> | undefined;
	/** Uploads, and hits, that may wait for a connection. */
	readonly length: number;
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onError: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

/** What waits for one database server, and the connections to it: a server that is slow or lost holds up no other. */
export class ServerQueues {
	readonly uploads: UploadQueue;
	readonly hits: HitQueue;
	readonly #pools: readonly PostgresPool[];

	constructor({ address, ...options }: ServerQueuesOptions) {
		const [forUploads, forHits] = [
			new PostgresPool(address, uploadPool, options.onError),
			new PostgresPool(address, hitPool, options.onError),
		];
		this.#pools = [forUploads, forHits];
		this.uploads = new UploadQueue({ ...options, pool: forUploads, connections: uploadPool.size });
		this.hits = new HitQueue({ ...options, pool: forHits, connections: hitPool.size });
	}

	get depth(): number {
		return this.uploads.depth + this.hits.depth;
	}

	/** Finishes what waits. */
	async close(): Promise<void> {
		await Promise.all([this.uploads.idle(), this.hits.idle()]);
		await Promise.all(this.#pools.map((pool) => pool.end()));
	}
}
