import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { hourMs } from '../../../durations.ts';
import {
	asStorageError,
	ConcurrentChangeError,
	NoConnectionError,
	OperatorError,
	reasonOf,
	StorageError,
	UnavailableError,
} from '../../../errors.ts';
import { hasMetMany, keepPrepared, statementOn } from './prepared.ts';
import { learnServer } from './server-capabilities.ts';
import { tlsOf, tlsProblem } from './tls.ts';

/** Parses every integer as a number: all that are stored are safe integers. */
const types: pg.CustomTypesConfig = {
	getTypeParser: (oid: number, format?: 'text' | 'binary') =>
		oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
};

export interface PoolOptions {
	readonly size: number;
	/** How long to wait for a new connection, or for one that is in use. */
	readonly connectTimeoutMs: number;
	/** After this time the server cancels a statement. */
	readonly statementTimeoutMs: number;
	/** After this time the server ends a transaction that receives no statement, and releases its locks. */
	readonly idleInTransactionMs: number;
	/**
	 * Whether the server refuses writes outside a transaction that `beginWriting` began. For pools that pipeline
	 * statements behind BEGIN: if BEGIN alone failed, each statement would otherwise be a transaction of its own.
	 */
	readonly writesOnlyBegun?: boolean;
	/**
	 * Whether statements are prepared once, with a generic plan. For pools that repeat a few statements, each of which
	 * finds its rows by an index.
	 */
	readonly prepares?: boolean;
	/**
	 * Whether they draw numbers of rows. A COMMIT may be answered before it is on disk: that of the rows is on disk later,
	 * because the log of a server is written in order.
	 */
	readonly drawsNumbers?: boolean;
	/**
	 * After how many uses a connection is closed. Its server process keeps what it knows of every table that it has met, some 150 KB for
	 * an account, until then.
	 */
	readonly maxUses?: number;
}

/** For migrations and exports, which may take long. */
export const maintenancePool: Omit<PoolOptions, 'size'> = {
	connectTimeoutMs: 10_000,
	statementTimeoutMs: hourMs,
	idleInTransactionMs: 60_000,
	// Rounds of background work meet all accounts.
	maxUses: 500,
};

/** Begins a transaction that may write, whatever the session's default. */
export const beginWriting = 'BEGIN READ WRITE';

/**
 * A generic plan may have been made while a table was small and a sequential scan was cheapest. It must not be kept
 * when the table has grown. Compiling these statements is not worth its time either.
 */
const forPrepared = 'SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off; SET jit TO off';

/** How much longer than the server's own timeout a server may be silent before its connection is cut. */
const silenceMs = 500;
/**
 * How long a number is waited for. While an account moves, its new rows wait for the move, which waits for the transaction that
 * needs the number.
 */
const drawWithinMs = 300;
/** How often a busy server checks that the client is still connected. */
const checkEveryMs = 500;
/** How long closing may take. A server that is gone never confirms it. */
const closeMs = 1000;

/**
 * Connections to one PostgreSQL server. Statements may be sent before earlier ones are answered (pipelining). A COMMIT
 * is answered only when it is on disk, whatever the server's own setting.
 *
 * Bitmap scans are off. Where PostgreSQL underestimates the length of a log, it would read and sort all of it instead
 * of taking the next 200 entries from an index that has them in order.
 *
 * A connection whose other end has vanished looks like one whose server is busy. So every statement has two time
 * limits: the server's, which ends slow statements, and our own, which cuts silent connections. When one connection
 * breaks, the idle ones have probably broken too, and are cut before anyone gets them.
 */
export class PostgresPool extends pg.Pool {
	readonly #idle = new Set<pg.PoolClient>();
	readonly #open = new Set<pg.PoolClient>();
	readonly #makeCounting: () => PostgresPool;
	#counting: PostgresPool | undefined;
	#ended: Promise<void> | undefined;

	/** See `learnServer`; known once the first connection is open. */
	isOnlyNode: boolean | undefined;

	/** @param onError called when an idle connection breaks */
	constructor(address: string, options: PoolOptions, onError: (error: Error) => void) {
		const tls = tlsOf(address);
		super({
			connectionString: tls.address,
			max: options.size,
			...(options.maxUses !== undefined && { maxUses: options.maxUses }),
			connectionTimeoutMillis: options.connectTimeoutMs,
			idleTimeoutMillis: 30_000,
			keepAlive: true,
			application_name: 'caskade',
			pipeline: true,
			types,
			query_timeout: options.statementTimeoutMs + silenceMs,
			onConnect: async (client) => {
				// Makes the server end statements soon after their connection was cut. Not every server knows this
				// setting.
				client.query(`SET client_connection_check_interval TO ${checkEveryMs}`).catch(() => {});
				const set = client.query(
					`SET synchronous_commit TO ${options.drawsNumbers ? `off; SET lock_timeout TO ${drawWithinMs}` : 'on'}; SET enable_bitmapscan TO off; SET statement_timeout TO ${options.statementTimeoutMs}; SET idle_in_transaction_session_timeout TO ${options.idleInTransactionMs}; SET default_transaction_read_only TO ${options.writesOnlyBegun ? 'on' : 'off'}${options.prepares ? `; ${forPrepared}` : ''}`,
				);
				[this.isOnlyNode] = await pipelineResults([learnServer(client), set]);
				if (options.prepares) keepPrepared(client);
			},
		});
		// Each new connection asks for it.
		Object.defineProperty(this.options, 'ssl', { enumerable: true, get: tls.options });
		this.#makeCounting = () =>
			new PostgresPool(
				address,
				{ ...options, writesOnlyBegun: false, prepares: true, drawsNumbers: true },
				onError,
			);
		this.on('error', onError);
		this.on('connect', (client) => this.#watch(client));
		this.on('acquire', (client) => this.#idle.delete(client));
		this.on('release', (error, client) => {
			if (isConnectionLost(error)) this.#dropIdle();
			else if (hasMetMany(client)) void client.end();
			else if (!error) this.#idle.add(client);
		});
		this.on('remove', (client) => {
			this.#idle.delete(client);
			this.#open.delete(client);
		});
	}

	/** Connections for numbers of rows, which are drawn beside the transaction that needs them. */
	get counting(): PostgresPool {
		this.#counting ??= this.#makeCounting();
		return this.#counting;
	}

	#watch(client: pg.PoolClient): void {
		this.#open.add(client);
		pools.set(client, this);
		// Without a listener, a connection that breaks while in use would end the process.
		client.on('error', () => {
			broken.add(client);
			this.#idle.delete(client);
			this.#dropIdle();
		});
	}

	#dropIdle(): void {
		const idle = [...this.#idle];
		this.#idle.clear();
		for (const client of idle) {
			client.connection.stream.destroy();
			// The end of the stream would say this a moment later. Until then the pool might hand out the connection.
			client.emit('error', new Error('the connection is given up: another has broken'));
		}
	}

	/** Cuts one connection. The server rolls its transaction back as soon as it notices. Other connections stay. */
	cut(client: pg.PoolClient): void {
		broken.add(client);
		// Marks the connection as ending, so that cutting it emits no error.
		void client.end();
		client.connection.stream.destroy();
	}

	/** Takes a connection. One that becomes free too late goes back unused. @throws StorageError */
	acquire(withinMs: number): Promise<pg.PoolClient> {
		const connecting = this.connect();
		return new Promise((resolve, reject) => {
			const late = setTimeout(() => {
				reject(new UnavailableError('no connection to the database in time'));
				connecting.then(
					(client) => client.release(),
					() => {},
				);
			}, withinMs);
			connecting.then(resolve, (error) => reject(storageError(error))).finally(() => clearTimeout(late));
		});
	}

	/**
	 * Sends a statement that may safely run twice. If its connection breaks, it is sent once more on another: an idle
	 * connection may have broken unnoticed.
	 */
	async queryAgain<Row extends pg.QueryResultRow>(
		text: string,
		values: unknown[],
	): Promise<pg.QueryResult<Row>> {
		try {
			return await this.#queryOnce<Row>(text, values);
		} catch (error) {
			if (!isConnectionLost(error)) throw error;
			return this.#queryOnce<Row>(text, values);
		}
	}

	async #queryOnce<Row extends pg.QueryResultRow>(
		text: string,
		values: unknown[],
	): Promise<pg.QueryResult<Row>> {
		const client = await this.connect();
		try {
			const result = await client.query<Row>({ ...statementOn(client, text, () => text), values });
			client.release();
			return result;
		} catch (error) {
			client.release(error as Error);
			throw error;
		}
	}

	close(): Promise<void> {
		return this.end();
	}

	/** Closes every connection. Those that the server does not close in time are cut. To close twice is no error. */
	override end(): Promise<void> {
		this.#ended ??= this.#endOnce();
		return this.#ended;
	}

	async #endOnce(): Promise<void> {
		await Promise.all([super.end(), this.#counting?.end()]);
		const cut = () => {
			for (const client of this.#open) client.connection.stream.destroy();
		};
		setTimeout(cut, closeMs).unref();
	}
}

const pools = new WeakMap<pg.PoolClient, PostgresPool>();

/** The pool of a connection. */
export function poolOf(client: pg.PoolClient): PostgresPool {
	const pool = pools.get(client);
	if (!pool) throw new Error('a connection of no pool');
	return pool;
}

/**
 * Wraps anything but a StorageError in one, and says whether what stored nothing may succeed when repeated. 53300: the server,
 * the database or the role has no connections left. 57P04: the database is no longer there.
 */
export function storageError(error: unknown): StorageError {
	const { code } = error as { code?: unknown };
	if (code === '53300') return new NoConnectionError(reasonOf(error), { cause: error });
	return isTransient(error) && code !== '57P04' && !isOwnError(error)
		? new UnavailableError(reasonOf(error), { cause: error })
		: asStorageError(error);
}

/** Errors of the network are of no class of their own. Others say what is wrong here: a defect, or what an operator must do. */
export function isOwnError(error: unknown): boolean {
	if (error instanceof pg.DatabaseError || error instanceof StorageError) return false;
	return !(error instanceof Error && ['Error', 'AggregateError'].includes(error.name));
}

/**
 * Whether the connection broke, the server ended it, or its prepared statements are of tables that have changed since: then
 * another one is needed, too. What was not committed then never will be.
 */
export function isConnectionLost(error: unknown): boolean {
	if (error instanceof pg.DatabaseError)
		return /^(08|57P)/.test(error.code ?? '') || error.routine === 'RevalidateCachedQuery';
	return error instanceof Error && !(error instanceof StorageError);
}

/** Failures that pass: 25P03 and 25P04 are timeouts of a transaction, 57014 is a cancelled statement. */
const transientCodes: ReadonlySet<unknown> = new Set(['25P03', '25P04', '40001', '40P01', '57014']);

/** Whether a transaction that failed before its COMMIT, and so stored nothing, may succeed when repeated. */
export function isTransient(error: unknown): boolean {
	return (
		error instanceof ConcurrentChangeError ||
		isConnectionLost(error) ||
		transientCodes.has((error as { code?: unknown }).code)
	);
}

/**
 * Awaits statements of one transaction that were sent together.
 * @throws the error of the first one that failed: the others' errors are consequences of it
 */
export async function pipelineResults<Sent extends readonly Promise<unknown>[] | []>(
	sent: Sent,
): Promise<{ -readonly [Place in keyof Sent]: Awaited<Sent[Place]> }> {
	const errors: unknown[] = [];
	for (const [place, one] of sent.entries())
		one.catch((error) => {
			errors[place] = error;
		});
	try {
		return await Promise.all(sent);
	} catch {
		// Errors that arrived in the same moment are known now. The rest is not awaited: a silent server takes long.
		await nextTurn();
		throw errors.find((error) => error !== undefined);
	}
}

/** Sends statements in one write, and awaits them like `pipelineResults`. */
export function pipeline<Sent extends readonly Promise<unknown>[] | []>(
	{ connection: { stream } }: pg.PoolClient,
	send: () => Sent,
): ReturnType<typeof pipelineResults<Sent>> {
	stream.cork();
	try {
		return pipelineResults(send());
	} finally {
		stream.uncork();
	}
}

/** Connections that have broken. Statements sent on them are lost. */
const broken = new WeakSet<pg.ClientBase>();

/** Nothing is stored: no COMMIT was sent, or the server answered it with ROLLBACK. */
class NotCommittedError extends Error {}

/** Ends a transaction. @throws an error for which `isRolledBack` is true if certainly nothing is stored */
export async function commitTransaction(client: pg.ClientBase, query_timeout?: number): Promise<void> {
	if (broken.has(client)) throw new NotCommittedError('the connection broke before COMMIT was sent');
	const statement = { text: 'COMMIT', query_timeout };
	const { command } = await client.query(statement);
	// If a statement of the transaction failed, the server answers COMMIT with ROLLBACK.
	if (command !== 'COMMIT') throw new NotCommittedError('the transaction was rolled back');
}

/**
 * Whether an error of `commit` proves that nothing is stored. 25P03 does: the server had ended the idle session before
 * the COMMIT. After any other error the transaction may be stored: the connection may have broken after it, and Citus
 * answers XX000 when a node is silent.
 */
export function isRolledBack(error: unknown): boolean {
	return error instanceof NotCommittedError || (error as { code?: unknown }).code === '25P03';
}

/**
 * Whether two transactions waited for each other until the server ended this one. All transactions lock in one order,
 * except for uploads that repeat the same new tids in different orders. This is rare, because a retry keeps the order.
 * Sorting rows would avoid it, but lose the order of arrival.
 */
export function isDeadlock(error: unknown): boolean {
	return (error as { code?: unknown }).code === '40P01';
}

export function isLockTimeout(error: unknown): boolean {
	return (error as { code?: unknown }).code === '55P03';
}

/** Whether the server has ended a statement that took too long. */
export function isStatementTimeout(error: unknown): boolean {
	return (error as { code?: unknown }).code === '57014';
}

/** Whether another transaction got in the way of this one. Run again, it finds what that one stored. */
export function isConcurrentChange(error: unknown): boolean {
	return error instanceof ConcurrentChangeError || isDeadlock(error);
}

/**
 * Waits until whoever was in the way has probably finished: at random, so that two who were in each other's way are not again,
 * and up to twice as long each time.
 */
export function pauseBeforeRetry(retries: number): Promise<void> {
	return delay(Math.random() * 5 * 2 ** retries);
}

/** Names of one stage's schemas. They consist of numbers and a checked stage, never of client input. */
export class SchemaNames {
	readonly #prefix: string;

	constructor(stage: string | undefined) {
		// A stage has no underscore, so no two stages share a schema name.
		if (stage !== undefined && !/^[a-z0-9-]{1,30}$/.test(stage)) throw new Error('an unchecked stage');
		this.#prefix = stage === undefined ? 'caskade' : `caskade_${stage}`;
	}

	get control(): string {
		return `${this.#prefix}_control`;
	}

	/** A regular expression for the accounts' schemas. */
	get accounts(): string {
		return `^${this.#prefix}_account_[0-9]+$`;
	}

	/** @param schema one of the accounts' schemas */
	accountIdOf(schema: string): number {
		return Number(schema.slice(schema.lastIndexOf('_') + 1));
	}

	account(accountId: number): string {
		if (!Number.isSafeInteger(accountId) || accountId < 1) throw new Error('an account id is a whole number');
		return `${this.#prefix}_account_${accountId}`;
	}
}

/** Describes a connection failure without showing a password. */
export function connectionError(error: unknown, address: string): Error {
	if (error instanceof OperatorError) return error;
	const { code, message } = error as NodeJS.ErrnoException;
	const url = URL.parse(address);
	const host = url?.hostname || 'localhost';
	const server = `${host}:${url?.port || 5432}`;
	const reasons: Readonly<Record<string, string>> = {
		ECONNREFUSED: `No PostgreSQL server listens at ${server}.`,
		ENOTFOUND: `There is no host ${host}.`,
		'28P01': `The PostgreSQL server at ${server} refuses the password.`,
		'3D000': `The PostgreSQL server at ${server} has no database of that name.`,
		42501: `The PostgreSQL server at ${server} says: ${message}. Name the role that made Caskade's schemas, and let it own the database or GRANT CREATE ON DATABASE.`,
	};
	const reason =
		reasons[code ?? ''] ??
		tlsProblem(error as Error, server, host) ??
		(error instanceof pg.DatabaseError || error instanceof UnavailableError
			? `The PostgreSQL server at ${server} says: ${message}.`
			: /timeout|terminated|^(connect|read|write) E/.test(message)
				? `No PostgreSQL server answers at ${server}.`
				: undefined);
	return reason ? new OperatorError(reason, { cause: error }) : new Error(message, { cause: error });
}
