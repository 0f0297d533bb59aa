import type { StoreCapability } from '../../capability.ts';
import { OperatorError, reasonOf, StorageError, UnavailableError } from '../../errors.ts';
import { type ClientTable, clientTableNames } from '../account/client-tables.ts';
import { countWaiting, foldingSchema } from '../account/profiles/folding.ts';
import { checkControl } from '../check-control.ts';
import type { Account } from '../control/account-store.ts';
import { type ControlDatabase, type ControlStore, controlStore } from '../control/control-store.ts';
import { ErasureList } from '../erasure-list.ts';
import type { Check, MigrationProgress, StoreStatus } from '../maintenance.ts';
import { migrationFiles, newestSchemas, SchemaTooOldError } from '../migrations.ts';
import { shownAddress } from '../own-database.ts';
import type { ServingReader, ServingWriter, WriterEvents } from '../serving.ts';
import { type Reading, raw, type Steps, select } from '../steps.ts';
import type { OlderSchema, OpenStore, StorePlace } from '../store.ts';
import { AccountServers, maxServers } from './engine/account-servers.ts';
import { checkCoordinator, checkEncoding, checkOwnServer, checkSessions } from './engine/check-database.ts';
import { Citus } from './engine/citus.ts';
import { ClusterMap } from './engine/cluster-map.ts';
import { changedCollations } from './engine/collations.ts';
import { type ConnectionBudget, connectionsForRequests, leastPerPool } from './engine/connection-budget.ts';
import { DatabaseClock } from './engine/database-clock.ts';
import { lockedSchemas } from './engine/locked-tables.ts';
import { NewestSchemas } from './engine/newest-schemas.ts';
import {
	connectionError,
	isConcurrentChange,
	isStatementTimeout,
	isTransient,
	maintenancePool,
	type PoolOptions,
	PostgresPool,
	pauseBeforeRetry,
	SchemaNames,
	storageError,
} from './engine/postgres-connection.ts';
import { controlDatabase } from './engine/postgres-control-database.ts';
import { type MigrationReport, migrate, schemaVersion } from './engine/postgres-migrate.ts';
import { beginReading, runSteps, runTransaction } from './engine/postgres-run-steps.ts';
import { repeatsSetAside, sentenceOf } from './engine/repeated-events.ts';
import { sequencesBehind } from './engine/sequences-behind.ts';
import { ServerPool } from './engine/server-pool.ts';
import { PostgresReader } from './queue/postgres-serving-reader.ts';
import { PostgresWriter } from './queue/postgres-serving-writer.ts';
import { ReadQueue } from './queue/read-queue.ts';

/**
 * For keys, plans and accounts: small statements that a serving process repeats all the time. Against a server that
 * does not answer, a start fails within five seconds.
 */
const controlPool: Omit<PoolOptions, 'size'> = {
	connectTimeoutMs: 3000,
	statementTimeoutMs: 3500,
	idleInTransactionMs: 60_000,
};
/** For servers and nodes that may not answer, of which a command says so within five seconds, its own start included. */
const quickPool: Omit<PoolOptions, 'size'> = {
	...controlPool,
	connectTimeoutMs: 2000,
	statementTimeoutMs: 2000,
};
/** For checks of accounts on the home server: silent nodes of a cluster do not wait for each other. */
const quickConnections = 4;
/** Whatever makes work is written to one of these. */
const markedTables: readonly ClientTable[] = [
	'hit',
	'subscription_event',
	'touch',
	'claim',
	'visitor',
	'visit',
	'task',
	'kept_day',
];

/** How often a transaction is repeated when another one got in its way. */
const maxRetries = 5;

/** Several times the heartbeat of a server. */
const deadAfterMs = 10_000;

export interface PostgresOptions extends ConnectionBudget {
	readonly stage?: string | undefined;
	readonly now?: (() => number) | undefined;
	readonly olderSchema?: OlderSchema | undefined;
	/** Refuse a database without a control schema instead of creating it. */
	readonly mustExist?: boolean;
	/** Host and port by which this process reaches a cluster's node, by host and port by which the nodes do. */
	readonly nodeAddress?: Readonly<Record<string, string>> | undefined;
	readonly erasureList?: string | undefined;
	readonly capabilities?: readonly StoreCapability[];
}

/**
 * One stage's databases on PostgreSQL: a control schema, and a schema for each account. An account with a server of its
 * own has a schema of the same name there.
 */
export class PostgresStore implements OpenStore {
	readonly control: ControlStore;
	readonly schemas = newestSchemas('postgres');
	readonly now: () => number;
	readonly takesManyServers = true;
	readonly place: StorePlace;
	readonly erasureList: ErasureList;
	/** Of each pool for requests. A server knows how many when the first connection is open. */
	#connections = leastPerPool;
	readonly #schemas: SchemaNames;
	readonly #servers: AccountServers;
	/** For migrations and exports. */
	readonly #pools: ServerPool<PostgresPool>;
	/** For pages, and for queries about any account. */
	readonly #reads: ServerPool<ReadQueue>;
	readonly #newest: NewestSchemas;
	readonly #controlPool: PostgresPool;
	readonly #controlDatabase: ControlDatabase;
	readonly #clusterMap: ClusterMap;
	/** As of the first look. */
	#isCluster: boolean | undefined;
	#onError: (address: string, error: Error) => void = () => {};
	#onNotice: (address: string, notice: string) => void = () => {};
	#onDeath: (error: Error) => void = () => {};

	private constructor(
		address: string,
		{ stage, now, nodeAddress, olderSchema = 'migrate', erasureList, capabilities = [] }: PostgresOptions,
	) {
		const schemas = new SchemaNames(stage);
		this.place = { database: address, stage, nodeAddress, olderSchema, erasureList };
		this.erasureList = new ErasureList(erasureList);
		this.#schemas = schemas;
		this.#servers = new AccountServers(address, schemas);
		const pool = (to: string, options: Omit<PoolOptions, 'size'>) =>
			new PostgresPool(to, { ...options, size: leastPerPool }, (error) => this.#onError(to, error));
		this.#pools = new ServerPool(maxServers, (to) => pool(to, maintenancePool));
		this.#reads = new ServerPool(
			maxServers,
			(to) =>
				new ReadQueue(
					to,
					this.#connections,
					(id) => this.#servers.schemaOf(id),
					(error) => this.#onError(to, error),
				),
		);
		this.#newest = new NewestSchemas(
			this.#servers,
			this.#reads,
			(to) => this.#pools.get(to),
			(at, notice) => this.#onNotice(at, notice),
			olderSchema,
		);
		this.#controlPool = pool(address, controlPool);
		this.#controlDatabase = controlDatabase(this.#controlPool, schemas.control);
		this.#clusterMap = new ClusterMap({
			pool: this.#controlPool,
			servers: this.#servers,
			schemas,
			nodeAddresses: nodeAddress ?? {},
			askQuickly,
			onError: (address, error) => this.#onError(address, connectionError(error, address)),
		});
		const clock = new DatabaseClock();
		this.now = now ?? (() => clock.now());
		this.control = controlStore(this.#controlDatabase, {
			capabilities,
			now: this.now,
			readClock: () => clock.read(() => this.#readClock()),
			liveServers: async () => (await this.#controlDatabase.read(liveServers())).map(({ id }) => id),
			isTimedOut: isStatementTimeout,
			onOwnDatabases: (own) => this.#servers.learn(own),
		});
	}

	/**
	 * Connects, and migrates the control schema to the newest version.
	 * @throws OperatorError where no server answers
	 */
	static async open(address: string, options: PostgresOptions = {}): Promise<PostgresStore> {
		const store = new PostgresStore(address, options);
		try {
			// Before any pool for requests is made.
			if (options.serves)
				store.#connections = await connectionsForRequests(store.#controlPool, store.#servers.home, options);
			await store.#bringControl(options.mustExist ?? false);
			// This reads the clock, too.
			await store.control.revision();
			store.#servers.learn(await store.control.ownDatabases());
			void store.#clusterMap.start();
			return store;
		} catch (error) {
			await store.close();
			throw connectionError(error, address);
		}
	}

	/**
	 * Checks on connections with short time limits first: nobody should wait long for a server that does not answer.
	 */
	async #bringControl(mustExist: boolean): Promise<void> {
		await checkEncoding(this.#controlPool, this.#servers.home);
		const schema = this.#schemas.control;
		const version = await schemaVersion(this.#controlPool, schema);
		if (version === 0) {
			await checkCoordinator(this.#controlPool, this.#servers.home);
			await this.#requireNoAccounts();
		}
		if (version === 0 && mustExist)
			throw new OperatorError(
				`There is no schema ${schema} at ${shownAddress(this.#servers.home)}; 'caskade account create' or 'caskade serve' creates one.`,
			);
		if (version > 0 && version < this.schemas.control && this.place.olderSchema === 'refuse')
			throw new SchemaTooOldError(`The control schema ${schema}`, version, this.schemas.control);
		if (version !== this.schemas.control) await migrate(this.#home, schema, 'control');
	}

	/** A new installation has no accounts' schemas. If there are some, the control schema has been lost. */
	async #requireNoAccounts(): Promise<void> {
		const { rows } = await this.#controlPool.query(
			'SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname ~ $1 LIMIT 1',
			[this.#schemas.accounts],
		);
		if (rows[0])
			throw new OperatorError(
				`The database has accounts' schemas, as ${rows[0].nspname}, but the schema ${this.#schemas.control} is missing; restore that from a backup, or name another database.`,
			);
	}

	/**
	 * Reads the database's clock, in milliseconds since 1970.
	 * @throws OperatorError when the database has got the Citus extension meanwhile: this process' connections draw numbers of
	 * rows from sequences, and those of others from the accounts' counters
	 */
	async #readClock(): Promise<number> {
		const { rows } = await this.#controlPool.query<{ ms: number; isCluster: boolean }>(
			`SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 AS ms,
				EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS "isCluster" /* read clock */`,
		);
		const { ms, isCluster } = rows[0] as (typeof rows)[0];
		this.#isCluster ??= isCluster;
		if (isCluster !== this.#isCluster) {
			const error = new OperatorError(
				`The database at ${shownAddress(this.#servers.home)} has ${isCluster ? 'got' : 'lost'} the Citus extension since this process began: start it again.`,
			);
			this.#onDeath(error);
			throw error;
		}
		return ms;
	}

	get #home(): PostgresPool {
		return this.#pools.get(this.#servers.home);
	}

	#poolOf(accountId: number): PostgresPool {
		return this.#pools.get(this.#servers.addressOf(accountId));
	}

	/** For what changes tables. */
	#ownerPoolOf(accountId: number): PostgresPool {
		return this.#pools.get(this.#servers.ownerAddressOf(accountId));
	}

	async transact<T>(accountId: number, begin: () => Steps<T>): Promise<T> {
		for (let retries = 0; ; retries++) {
			try {
				return await this.#run(accountId, 'BEGIN', begin());
			} catch (error) {
				if (!isConcurrentChange(error) || retries === maxRetries) throw error;
				await pauseBeforeRetry(retries);
			}
		}
	}

	async read<T>(accountId: number, reading: Reading<T>): Promise<T> {
		try {
			return await this.#run(accountId, beginReading, reading);
		} catch (error) {
			const stored = storageError(error);
			// What an operator must do is said as it is.
			throw stored instanceof UnavailableError ? stored : error;
		}
	}

	async #run<T>(accountId: number, begin: string, steps: Steps<T>): Promise<T> {
		await this.#newest.ensureNewest(accountId);
		const address = this.#servers.addressOf(accountId);
		const client = await this.#pools.get(address).connect();
		try {
			const schema = this.#servers.schemaOf(accountId);
			// What only reads does not hold the account where it lies.
			const tables = begin === beginReading ? { schema } : this.#servers.tablesOf(accountId, address);
			const outcome = await runTransaction(client, tables, { begin, steps });
			client.release();
			return outcome;
		} catch (error) {
			client.release(true);
			throw error;
		}
	}

	/** Frees the space of deleted rows. Their bytes stay until the space is used again. */
	async purge(accountId: number, { rewrite }: { rewrite: boolean }): Promise<void> {
		// PostgreSQL's own vacuum takes care of what retention deletes.
		if (!rewrite) return;
		const schema = this.#servers.schemaOf(accountId);
		const tables = clientTableNames.map((table) => `"${schema}".${table}`);
		await this.#ownerPoolOf(accountId).query(`VACUUM ${tables.join(', ')}`);
	}

	/**
	 * From the server's statistics, which are a minute late at most. Missing are accounts on servers of their own, and on clusters,
	 * where the statistics are the nodes'.
	 */
	async marks(): Promise<ReadonlyMap<number, string>> {
		if (await Citus.of(this.#home)) return new Map();
		const { rows } = await this.#home.query<{ schema: string; mark: string }>(
			`SELECT nspname AS schema, concat_ws(' ', pg_postmaster_start_time(), sum(pg_stat_get_tuples_inserted(pg_class.oid)
				+ pg_stat_get_tuples_updated(pg_class.oid) + pg_stat_get_tuples_deleted(pg_class.oid))) AS mark
			 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
			 WHERE relname = ANY($1) AND relkind = 'r' AND nspname ~ $2 AND current_setting('track_counts') = 'on'
			 GROUP BY nspname /* marks */`,
			[markedTables, this.#schemas.accounts],
		);
		return new Map(rows.map(({ schema, mark }) => [this.#schemas.accountIdOf(schema), mark]));
	}

	async waiting(accountId: number): Promise<number> {
		const [pool, schema] = [this.#poolOf(accountId), this.#servers.schemaOf(accountId)];
		const client = await pool.connect();
		try {
			if ((await schemaVersion(client, schema)) < foldingSchema) return 0;
			return await runSteps(client, { schema }, countWaiting());
		} finally {
			client.release();
		}
	}

	startReading(): ServingReader {
		return new PostgresReader({
			servers: this.#servers,
			newest: this.#newest,
			reads: this.#reads,
		});
	}

	async createAccountDatabase(accountId: number, ownDatabase?: string): Promise<void> {
		const schema = this.#servers.schemaOf(accountId);
		if (ownDatabase === undefined) {
			const pool = this.#ownerPoolOf(accountId);
			if (await hasRows(pool, schema))
				throw new OperatorError(
					`The schema ${schema} exists already, with data of an account that ${this.#schemas.control} does not know; restore the control schema that knows it, or rename this one.`,
				);
			// Not by the control database's pool, of which whoever creates the account holds a connection: two at once would wait
			// for each other.
			await (await Citus.of(pool))?.requireWorkers();
			await migrate(pool, schema, 'client');
			return;
		}
		try {
			await askQuickly(ownDatabase, async (asked) => {
				await checkOwnServer(asked, ownDatabase);
				if ((await schemaVersion(asked, schema)) > 0)
					throw new OperatorError(
						`There is a schema ${schema} at ${shownAddress(ownDatabase)} already, which belongs to another deployment or was left behind by one; give the account a database that no other deployment uses.`,
					);
			});
			await migrate(this.#pools.get(ownDatabase), schema, 'client');
		} catch (error) {
			throw connectionError(error, ownDatabase);
		}
		this.#servers.learnOne(accountId, ownDatabase);
	}

	/** Takes its turn where another transaction still uses the schema. */
	async deleteAccountDatabase(accountId: number): Promise<void> {
		const address = this.#servers.ownerAddressOf(accountId);
		const drop = `DROP SCHEMA IF EXISTS "${this.#servers.schemaOf(accountId)}" CASCADE`;
		for (let retries = 0; ; retries++) {
			try {
				await this.#pools.get(address).query(drop);
				return;
			} catch (error) {
				if (!isConcurrentChange(error) || retries === maxRetries) throw connectionError(error, address);
			}
		}
	}

	async migrate(progress: (step: MigrationProgress) => void): Promise<void> {
		const accounts = await this.control.accounts();
		const failed: string[] = [];
		for (const [index, { id, aid, ownDatabase }] of accounts.entries()) {
			let migrated: MigrationReport = { migrations: 0 };
			try {
				migrated = await this.#migrateAccount(id);
			} catch (error) {
				// One lost server must not prevent the new version from serving the others.
				if (ownDatabase === null && !(error instanceof StorageError)) throw error;
				failed.push(`${aid}${ownDatabase === null ? '' : ` at ${ownDatabase}`} (${reasonOf(error)})`);
			}
			progress({ database: aid, ...migrated, done: index + 1, total: accounts.length });
		}
		if (failed.length > 0)
			throw new OperatorError(
				`All databases have the newest schema except ${failed.join(', ')}; run 'caskade migrate' again when it can be reached.`,
			);
	}

	async #migrateAccount(accountId: number): Promise<MigrationReport> {
		return migrate(this.#ownerPoolOf(accountId), this.#servers.schemaOf(accountId), 'client', 'lost');
	}

	async startWriting(events: WriterEvents): Promise<ServingWriter> {
		this.#onError = (address, error) => events.onError(this.#servers.nameOf(address), error.message);
		this.#onNotice = (address, notice) => events.onNotice(this.#servers.nameOf(address), notice);
		this.#onDeath = events.onDeath;
		await checkSessions(this.#controlPool, this.#servers.home);
		await this.#checkDurability();
		const collation = await changedCollations(this.#controlPool);
		if (collation) this.#onNotice(this.#servers.home, collation);
		const writer = new PostgresWriter(
			{
				servers: this.#servers,
				schemas: this.#schemas,
				newest: this.#newest,
				connections: this.#connections,
			},
			events,
		);
		await writer.start().catch(async (error) => {
			await writer.stop();
			throw error;
		});
		return writer;
	}

	/** Checks the home server. A worker that cannot be asked must not prevent serving the accounts of others. */
	async #checkDurability(): Promise<void> {
		const citus = await Citus.of(this.#controlPool);
		await citus?.checkDurability().catch((error) => {
			if (error instanceof OperatorError) throw error;
			this.#onError(this.#servers.home, error);
		});
	}

	async status(): Promise<StoreStatus> {
		const live = await this.#controlDatabase.read(liveServers());
		return {
			servers: live.length,
			consoleUrls: [...new Set(live.flatMap(({ consoleUrl }) => consoleUrl ?? []))],
			collation: await changedCollations(this.#controlPool),
		};
	}

	async backup(): Promise<void> {
		const how = (await Citus.of(this.#controlPool))
			? 'on a cluster, back up each node and make the backups one moment with citus_create_restore_point, or dump the coordinator with pg_dump, which has every account.'
			: "on PostgreSQL use pg_dump or your server's own backups.";
		throw new OperatorError(`'caskade backup' copies a data folder; ${how}`);
	}

	async *runChecks(): AsyncIterable<Check> {
		const pool = this.#controlPool;
		const { rows } = await pool.query('SHOW server_version');
		yield { check: 'server', ok: true, detail: `PostgreSQL ${rows[0].server_version}` };
		const pooled = await problemOf(checkSessions(pool, this.#servers.home));
		if (pooled) yield { check: 'sessions', ok: false, detail: pooled };
		const collation = await changedCollations(pool);
		if (collation) yield { check: 'collation', ok: false, detail: collation };
		const citus = await Citus.of(pool);
		const asking = new PostgresPool(this.#servers.home, { ...quickPool, size: quickConnections }, () => {});
		try {
			const locked = await lockedSchemas(asking, this.#schemas.accounts);
			const all = (await this.control.accounts()).filter(({ id }) => !locked.has(this.#servers.schemaOf(id)));
			const accounts = this.#checkAccounts(all, asking, await citus?.nodes());
			if (citus) yield* citus.runChecks(this.#schemas.control);
			yield await checkSchema('control schema', pool, this.#schemas.control, 'control');
			for (const check of accounts) yield await check;
			for (const [schema, detail] of locked) yield { check: `tables of ${schema}`, ok: false, detail };
		} finally {
			await asking.close();
		}
		for (const schema of (await citus?.leftBehind()) ?? [])
			yield {
				check: `rows of ${schema}`,
				ok: false,
				detail: `the coordinator still has those from before it was distributed, which no erasure reaches: SELECT truncate_local_data_after_distributing_table(logicalrelid) FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid WHERE relnamespace = '${schema}'::regnamespace`,
			};
		yield* checkControl(this.control, this.now());
	}

	/**
	 * Servers and nodes are asked at the same time, and each about one account after another, until it does not answer: one
	 * that is frozen costs the time limit once.
	 * @param home asks the home server
	 * @param nodes the node of each distributed schema, on Citus
	 */
	#checkAccounts(
		accounts: readonly Account[],
		home: PostgresPool,
		nodes: ReadonlyMap<string, string> | undefined,
	): Promise<Check>[] {
		const silence = new Map<string, Promise<string | undefined>>();
		return accounts.map(({ id, aid, ownDatabase }) => {
			const check = `account ${aid}`;
			const schema = this.#servers.schemaOf(id);
			const address = this.#servers.ownerAddressOf(id);
			const node = ownDatabase ?? nodes?.get(schema);
			const place = node ?? this.#servers.nameOf(address);
			const ask = async (pool: PostgresPool) => {
				const result = await checkSchema(check, pool, schema, 'client');
				const problems = [
					ownDatabase === null ? undefined : await changedCollations(pool),
					result.ok && !nodes ? await sequencesBehind(pool, schema) : undefined,
				].filter((problem) => problem !== undefined);
				return problems.length === 0
					? result
					: { ...result, ok: false, detail: [result.detail, ...problems].join('; ') };
			};
			const asked = (silence.get(place) ?? Promise.resolve(undefined)).then(async (known) => {
				if (known !== undefined) return { silence: known, problem: known };
				try {
					return { result: await (ownDatabase === null ? ask(home) : askQuickly(address, ask)) };
				} catch (error) {
					const problem = connectionError(error, address).message;
					return { silence: isTransient(error) ? problem : undefined, problem };
				}
			});
			silence.set(
				place,
				asked.then((outcome) => outcome.silence),
			);
			return asked.then(({ result, problem }) => {
				if (!result) return { check, ok: false, detail: `${place} cannot be asked: ${problem}` };
				if (!result.ok || (ownDatabase === null && !nodes)) return result;
				return checkPlace(result, schema, node);
			});
		});
	}

	/** Servers on other machines cannot be blocked. A copy detects what they change meanwhile. */
	blockServers(): () => void {
		return () => {};
	}

	async close(): Promise<void> {
		this.#clusterMap.stop();
		await Promise.all([this.#controlPool.end(), this.#pools.close(), this.#reads.close()]);
	}
}

/** Asks a server that may not answer. */
async function askQuickly<T>(address: string, ask: (pool: PostgresPool) => Promise<T>): Promise<T> {
	const pool = new PostgresPool(address, { ...quickPool, size: 1 }, () => {});
	try {
		return await ask(pool);
	} finally {
		await pool.close();
	}
}

/** Servers with a recent heartbeat. One with a heartbeat in the future has sent none since the clock stepped back. */
const liveServers = () =>
	select<{
		readonly id: string;
		readonly consoleUrl: string | null;
	}>`id, console_url AS "consoleUrl" FROM @server WHERE abs(extract(epoch FROM clock_timestamp()) * 1000 - seen_at) < ${raw(deadAfterMs)} /* living servers */`;

/** Whether a schema contains any rows besides its version. */
async function hasRows(pool: PostgresPool, schema: string): Promise<boolean> {
	const { rows: tables } = await pool.query(
		"SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename NOT IN ('schema_version', 'counter')",
		[schema],
	);
	for (const { name } of tables) {
		const { rowCount } = await pool.query(`SELECT 1 FROM ${name} LIMIT 1`);
		if (rowCount !== 0) return true;
	}
	return false;
}

/** What an operator has to do before a check succeeds; undefined where it does. */
async function problemOf(checked: Promise<void>): Promise<string | undefined> {
	try {
		await checked;
	} catch (error) {
		if (error instanceof OperatorError) return error.message;
		throw error;
	}
	return undefined;
}

async function checkSchema(
	check: string,
	pool: PostgresPool,
	schema: string,
	kind: 'control' | 'client',
): Promise<Check> {
	const version = await schemaVersion(pool, schema);
	const known = migrationFiles('postgres', kind).length;
	if (version === 0) return { check, ok: false, detail: 'its schema is missing: restore a backup' };
	if (version > known)
		return { check, ok: false, detail: `schema ${version} is newer than this Caskade (${known})` };
	const pending = version < known ? `, schema ${known} is available: run 'caskade migrate'` : '';
	const repeats = kind === 'client' ? await repeatsSetAside(pool, schema) : undefined;
	const setAside = repeats ? `, ${sentenceOf(repeats, schema)}` : '';
	return { check, ok: true, detail: `schema ${version}${pending}${setAside}` };
}

/** @param place the node of the schema; `undefined` where Citus has not distributed it */
function checkPlace(result: Check, schema: string, place: string | undefined): Check {
	if (place !== undefined) return { ...result, detail: `${result.detail}, at ${place}` };
	const how = `SELECT citus_schema_distribute('${schema}')`;
	return { ...result, ok: false, detail: `${result.detail}, on the coordinator: ${how}` };
}
