import { type PoolOptions, PostgresPool } from './connection.ts';
import { hitGroups, type WaitingHit } from './hit-group.ts';
import { uploadGroups } from './upload-group.ts';
import type { WaitingUpload } from './waiting-upload.ts';
import { WriteQueue } from './write-queue.ts';

/** For uploads, one transaction on each; the deadline of what it stores limits each statement further. */
const uploadPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 10_000,
	idleInTransactionMs: 2000,
	writesOnlyBegun: true,
	prepares: true,
};
/** For hits, beside uploads, so that neither waits for the other. */
const hitPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
	writesOnlyBegun: true,
	prepares: true,
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
	readonly uploads: WriteQueue<WaitingUpload>;
	readonly hits: WriteQueue<WaitingHit>;
	readonly #pools: readonly PostgresPool[];

	constructor({ address, schemaOf, ...options }: ServerQueuesOptions) {
		const [forUploads, forHits] = [
			new PostgresPool(address, uploadPool, options.onError),
			new PostgresPool(address, hitPool, options.onError),
		];
		this.#pools = [forUploads, forHits];
		this.uploads = new WriteQueue(uploadGroups(schemaOf), {
			...options,
			pool: forUploads,
			connections: uploadPool.size,
		});
		this.hits = new WriteQueue(hitGroups(schemaOf), {
			...options,
			// The metrics are of uploads.
			onCommit: () => {},
			pool: forHits,
			connections: hitPool.size,
		});
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
