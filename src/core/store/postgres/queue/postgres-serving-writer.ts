import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Deadline } from '../../../deadline.ts';
import type { QuotaHolding, QuotaSettlement } from '../../../domain/quota-lease.ts';
import type { ArrivingHit, StoredHit } from '../../../domain/stored-hit.ts';
import type { UsagePlan } from '../../../domain/usage-plan.ts';
import { dayMs } from '../../../durations.ts';
import { NoConnectionError, reasonOf } from '../../../errors.ts';
import type { UploadOutcome } from '../../account/arriving/arriving-events.ts';
import { settleQuotas } from '../../control/quota-leases.ts';
import { type RequestCounts, recordCounts } from '../../control/request-counts.ts';
import { FullDisk } from '../../full-disk.ts';
import type { ServingWriter, TokenLedger, Upload, WriterEvents } from '../../serving.ts';
import type { Steps } from '../../steps.ts';
import { type AccountServers, maxServers } from '../engine/account-servers.ts';
import type { NewestSchemas } from '../engine/newest-schemas.ts';
import {
	commitTransaction,
	isTransient,
	type PoolOptions,
	PostgresPool,
	type SchemaNames,
	storageError,
} from '../engine/postgres-connection.ts';
import { runSteps } from '../engine/postgres-run-steps.ts';
import { ServerPool } from '../engine/server-pool.ts';
import { waitingHit } from './hit-group.ts';
import { ServerQueues } from './server-queues.ts';
import { waitingUpload } from './waiting-upload.ts';

/** The maximum number of waiting uploads, and of waiting hits, on a shared server. */
const queueLength = 8192;
/** The maximum of each on the server of one account. If that server is lost, little memory is spent on what waits for it. */
const ownQueueLength = 1024;
/** For tokens, leases and probes, so that they and uploads do not wait for each other. */
const limitsPool: Omit<PoolOptions, 'size'> = {
	connectTimeoutMs: 1500,
	statementTimeoutMs: 1500,
	idleInTransactionMs: 2000,
};

/** How far a token bucket may be ahead of the database's clock. */
const maxAheadMs = 2000;

/** The database's clock, in milliseconds since 1970. */
const databaseMs = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const heartbeatMs = 2000;
/** A server that was suspended for less than this still has its leases when it continues. */
const forgetAfterMs = dayMs;

/** PostgreSQL's codes for a disk that accepts no writes: disk_full, io_error. */
const diskErrorCodes: ReadonlySet<unknown> = new Set(['53100', '58030']);
/** Writes a megabyte where the database's tables are, and leaves nothing behind. */
const takeRoom = `SET LOCAL temp_tablespaces TO '';
	CREATE TEMP TABLE caskade_room ON COMMIT DROP AS SELECT repeat('x', 1000) FROM generate_series(1, 1000) /* take room */`;

/** What a serving process writes on PostgreSQL. Any number of processes may do so at once. */
export class PostgresWriter implements ServingWriter, TokenLedger {
	readonly tokens: TokenLedger = this;
	readonly #schemas: SchemaNames;
	readonly #limits: PostgresPool;
	readonly #servers: AccountServers;
	readonly #queues: ServerPool<ServerQueues>;
	readonly #disk: FullDisk;
	readonly #serverId = randomUUID();
	/** Whether the home server has refused a connection for uploads or hits. */
	#isRefused = false;
	#alive: NodeJS.Timeout | undefined;
	#consoleUrl: string | null = null;

	constructor(
		{
			servers,
			schemas,
			newest,
			connections,
		}: {
			readonly servers: AccountServers;
			readonly schemas: SchemaNames;
			readonly newest: NewestSchemas;
			/** Of each pool. */
			readonly connections: number;
		},
		events: WriterEvents,
	) {
		this.#servers = servers;
		this.#schemas = schemas;
		const onError = (address: string, error: unknown) => {
			// Another server's disk is no reason to send this server's requests elsewhere.
			if (address === servers.home) this.#notice(error);
			events.onError(servers.nameOf(address), reasonOf(error));
		};
		this.#limits = new PostgresPool(servers.home, { ...limitsPool, size: connections }, (error) =>
			onError(servers.home, error),
		);
		this.#disk = new FullDisk(() => this.#query(takeRoom).then(() => {}));
		this.#queues = new ServerPool(
			maxServers,
			(address) =>
				new ServerQueues({
					address,
					connections,
					tablesOf: (accountId) => servers.tablesOf(accountId, address),
					beforeUse: (accountId) => newest.beforeUse(accountId),
					length: servers.isShared(address) ? queueLength : ownQueueLength,
					onCommit: events.onCommit,
					onError: (error) => onError(address, error),
					onWaiting: events.onWaiting,
				}),
		);
	}

	/** Registers this server as alive. */
	async start(): Promise<void> {
		await this.#heartbeat();
		await this.#removeDead();
		this.#alive = setInterval(() => this.#heartbeat().catch(() => {}), heartbeatMs).unref();
	}

	async announce(_url: string, consoleUrl?: string): Promise<void> {
		this.#consoleUrl = consoleUrl ?? null;
		await this.#heartbeat();
	}

	storeHit(accountId: number, hit: ArrivingHit): Promise<StoredHit> {
		return this.#queuesOf(accountId).hits.store<StoredHit>(accountId, (settle) =>
			waitingHit(accountId, hit, settle),
		);
	}

	storeSubscriptionEvents(accountId: number, upload: Upload, deadline: Deadline) {
		return this.#queuesOf(accountId).uploads.store<UploadOutcome | 'expired'>(accountId, (settle) =>
			waitingUpload(accountId, upload, deadline, settle),
		);
	}

	#queuesOf(accountId: number): ServerQueues {
		return this.#queues.get(this.#servers.addressOf(accountId));
	}

	/**
	 * Takes tokens from a key's bucket by the database's clock, which all servers share. A bucket may be a little
	 * ahead, because a statement may wait for another one after it has read the clock. A bucket that is further ahead
	 * was filled before the clock stepped back, and counts as filled now.
	 */
	async takeTokens(
		keyId: string,
		plan: UsagePlan,
		wanted: number,
	): Promise<{ granted: number; tokens: number }> {
		const { rows } = await this.#queryAgain(
			`WITH bucket AS (
				SELECT key_id, least($2, tokens + greatest(at.ms - at_ms, 0) * $3 / 1000) AS tokens,
					CASE WHEN at_ms > at.ms + ${maxAheadMs} THEN at.ms ELSE greatest(at_ms, at.ms) END AS at_ms
				FROM ${this.#table('token_bucket')},
					(SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 AS ms) AS at
				WHERE key_id = $1 FOR UPDATE OF token_bucket
			 )
			 UPDATE ${this.#table('token_bucket')} AS token_bucket
			 SET tokens = bucket.tokens - least($4, floor(bucket.tokens)), at_ms = bucket.at_ms
			 FROM bucket WHERE token_bucket.key_id = bucket.key_id
			 RETURNING least($4, floor(bucket.tokens)) AS granted, token_bucket.tokens /* take tokens */`,
			[keyId, plan.burst, plan.ratePerSecond, wanted],
		);
		if (rows[0]) return rows[0];
		await this.#queryAgain(
			`INSERT INTO ${this.#table('token_bucket')} (key_id, tokens, at_ms) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING /* take tokens */`,
			[keyId, plan.burst],
		);
		return this.takeTokens(keyId, plan, wanted);
	}

	/** The ledger counts a repeated settlement once. */
	settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]> {
		return this.#transactAgain(() => settleQuotas(this.#serverId, settlements));
	}

	recordCounts(counts: RequestCounts): Promise<void> {
		return this.#transactAgain(() => recordCounts(counts));
	}

	/** Repeats steps once after a transient failure. */
	async #transactAgain<T>(begin: () => Steps<T>): Promise<T> {
		const transact = () => this.#transact(begin());
		try {
			return await transact().catch((error) => (isTransient(error) ? transact() : Promise.reject(error)));
		} catch (error) {
			this.#notice(error);
			throw storageError(error);
		}
	}

	async #transact<T>(steps: Steps<T>): Promise<T> {
		const client = await this.#limits.acquire(limitsPool.connectTimeoutMs);
		try {
			await client.query('BEGIN');
			const outcome = await runSteps(client, { schema: this.#schemas.control }, steps);
			await commitTransaction(client);
			client.release();
			return outcome;
		} catch (error) {
			client.release(error instanceof Error ? error : true);
			throw error;
		}
	}

	/** Keeps this server's leases from being forfeited. */
	async #heartbeat(): Promise<void> {
		await this.#query(
			`INSERT INTO ${this.#table('server')} AS server (id, seen_at, console_url) VALUES ($1, ${databaseMs}, $2)
			 ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, console_url = excluded.console_url /* show alive */`,
			[this.#serverId, this.#consoleUrl],
		);
	}

	/** Forgets servers that are certainly dead, except for the totals of what they leased and used. */
	async #removeDead(): Promise<void> {
		await this.#query(
			`DELETE FROM ${this.#table('server')} WHERE seen_at < ${databaseMs} - $1 /* forget dead */`,
			[forgetAfterMs],
		);
		await this.#query(
			`DELETE FROM ${this.#table('quota_lease')} WHERE server_id NOT IN (SELECT id FROM ${this.#table('server')}) /* forget dead */`,
		);
	}

	async probe(): Promise<void> {
		await this.#disk.check();
		if (this.#isRefused) await this.#queues.get(this.#servers.home).reach();
		this.#isRefused = false;
		await this.#query(`UPDATE ${this.#table('probe')} SET at = $1 /* probe */`, [Date.now()]);
	}

	#notice(error: unknown): void {
		if (error instanceof NoConnectionError) this.#isRefused = true;
		if (diskErrorCodes.has((error as { code?: unknown } | null)?.code)) this.#disk.found();
	}

	/** For taking tokens. Tokens granted by a lost answer are forfeited, so repeating never grants too many. */
	#queryAgain(text: string, values: unknown[]): Promise<pg.QueryResult> {
		return this.#reporting(this.#limits.queryAgain(text, values));
	}

	#query(text: string, values?: unknown[]): Promise<pg.QueryResult> {
		return this.#reporting(this.#limits.query(text, values));
	}

	async #reporting(result: Promise<pg.QueryResult>): Promise<pg.QueryResult> {
		try {
			return await result;
		} catch (error) {
			this.#notice(error);
			throw storageError(error);
		}
	}

	#table(name: string): string {
		return `"${this.#schemas.control}"."${name}"`;
	}

	get queueDepth(): number {
		let depth = 0;
		for (const queues of this.#queues.values()) depth += queues.depth;
		return depth;
	}

	async stop(): Promise<void> {
		clearInterval(this.#alive);
		await this.#leave().catch(() => {
			// Other servers will notice that this one is not alive.
		});
		await Promise.all([this.#queues.close(), this.#limits.end()]);
	}

	/** The rest of its leases is forfeited. */
	async #leave(): Promise<void> {
		await this.#query(
			`WITH lease AS (DELETE FROM ${this.#table('quota_lease')} WHERE server_id = $1)
			 DELETE FROM ${this.#table('server')} WHERE id = $1 /* leave */`,
			[this.#serverId],
		);
	}
}
