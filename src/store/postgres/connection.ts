import { setImmediate as nextTurn } from 'node:timers/promises';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { ConcurrentChangeError, OperatorError, StorageError } from '../../errors.ts';
import { type Capabilities, learnCapabilities } from './capabilities.ts';
import { keepPrepared } from './prepared.ts';

/** Numbers of all kinds come as numbers: every integer that is stored is a safe one. */
const types: pg.CustomTypesConfig = {
	getTypeParser: (oid: number, format?: 'text' | 'binary') =>
		oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
};

export interface PoolOptions {
	/** The most connections. */
	readonly size: number;
	/** How long making a connection may take, and how long to wait for one that is in use. */
	readonly connectTimeoutMs: number;
	/** After it the server gives a statement up. */
	readonly statementTimeoutMs: number;
	/** After it the server ends a transaction that nobody goes on with, and gives its locks back. */
	readonly idleInTransactionMs: number;
	/**
	 * Whether the server refuses whatever writes outside of a transaction that `beginWriting` has begun. For pools that
	 * send statements behind a BEGIN that is not yet answered: where it fails alone, they would each be a transaction.
	 */
	readonly writesOnlyBegun?: boolean;
	/**
	 * Whether statements are prepared once, with a plan that holds for all values: for pools that send few different ones
	 * again and again, and each finds its rows by an index.
	 */
	readonly prepares?: boolean;
}

/** Begins a transaction that may write, whatever the session's default. */
export const beginWriting = 'BEGIN READ WRITE';

/**
 * A plan that is kept may have been made when a table was small, and reading all of it cost least. It must not be kept
 * when the table has grown. Nor is compiling any of these statements worth its time.
 */
const forPrepared = 'SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off; SET jit TO off';

/** Whatever takes statements: a connection, or a pool of them. */
export interface Queryable {
	query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
}

/** How much longer than the server's own timeout a server may be silent before its connection is cut. */
const silenceMs = 500;
/** How often a busy server looks whether somebody still waits for its answer. */
const checkEveryMs = 500;
/** How long closing may take; a server that is gone never says goodbye. */
const closeMs = 1000;

/**
 * Connections to one PostgreSQL server. Statements may be sent before earlier ones are answered (pipelining), and a
 * COMMIT answers only when it is on disk, whatever the server's own setting.
 *
 * Bitmap scans are off: where a log is long, and PostgreSQL takes it for short, it would read all of it and sort, instead of
 * the next 200 entries by an index that is in their order.
 *
 * A connection whose other end has vanished looks as one whose server is busy. So every statement has a time limit
 * on either side: the server's, which ends what is slow, and our own, which cuts a connection that stays silent. When
 * one connection breaks, those that are idle have probably broken with it, and are cut before anyone is handed them.
 */
export class PostgresPool extends pg.Pool {
	readonly #idle = new Set<pg.PoolClient>();
	readonly #open = new Set<pg.PoolClient>();

	/** Known from the first connection on. */
	capabilities: Capabilities | undefined;

	/** @param onError a connection broke while nobody used it */
	constructor(address: string, options: PoolOptions, onError: (error: Error) => void) {
		super({
			connectionString: address,
			max: options.size,
			connectionTimeoutMillis: options.connectTimeoutMs,
			idleTimeoutMillis: 30_000,
			keepAlive: true,
			application_name: 'caskade',
			pipeline: true,
			types,
			query_timeout: options.statementTimeoutMs + silenceMs,
			onConnect: async (client) => {
				// So that a server soon ends what waits for a connection that was cut; some do not know this setting.
				client.query(`SET client_connection_check_interval TO ${checkEveryMs}`).catch(() => {});
				const set = client.query(
					`SET synchronous_commit TO on; SET enable_bitmapscan TO off; SET statement_timeout TO ${options.statementTimeoutMs}; SET idle_in_transaction_session_timeout TO ${options.idleInTransactionMs}; SET default_transaction_read_only TO ${options.writesOnlyBegun ? 'on' : 'off'}${options.prepares ? `; ${forPrepared}` : ''}`,
				);
				[this.capabilities] = await pipelineResults([learnCapabilities(client), set]);
				if (options.prepares && this.capabilities.canPrepare) keepPrepared(client);
			},
		});
		this.on('error', onError);
		this.on('connect', (client) => this.#watch(client));
		this.on('acquire', (client) => this.#idle.delete(client));
		this.on('release', (error, client) => {
			if (isConnectionLost(error)) this.#dropIdle();
			else if (!error) this.#idle.add(client);
		});
		this.on('remove', (client) => {
			this.#idle.delete(client);
			this.#open.delete(client);
		});
	}

	#watch(client: pg.PoolClient): void {
		this.#open.add(client);
		// Without a listener, a connection that breaks while it is in use would end the process.
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
			// What the end of the stream will say a moment later; said now, nobody is handed the connection meanwhile.
			client.emit('error', new Error('the connection is given up: another has broken'));
		}
	}

	/** Ends what a connection is busy with; the server rolls it back as soon as it notices. The others are sound. */
	cut(client: pg.PoolClient): void {
		broken.add(client);
		// Said first, so that its end surprises nobody.
		void client.end();
		client.connection.stream.destroy();
	}

	/** A connection, if there is one in time; one that comes later goes back unused. @throws StorageError */
	acquire(withinMs: number): Promise<pg.PoolClient> {
		const connecting = this.connect();
		return new Promise((resolve, reject) => {
			const late = setTimeout(() => {
				reject(new StorageError('no connection to the database in time'));
				connecting.then(
					(client) => client.release(),
					() => {},
				);
			}, withinMs);
			connecting
				.then(resolve, (error) => reject(new StorageError(error.message, { cause: error })))
				.finally(() => clearTimeout(late));
		});
	}

	/**
	 * Sends a statement that may be carried out twice: once more on another connection, where its own has broken. One that
	 * broke while idle may not be known to have broken before it is used.
	 */
	async queryAgain<Row extends pg.QueryResultRow>(
		text: string,
		values?: unknown[],
	): Promise<pg.QueryResult<Row>> {
		try {
			return await this.query<Row>(text, values);
		} catch (error) {
			if (!isConnectionLost(error)) throw error;
			return this.query<Row>(text, values);
		}
	}

	close(): Promise<void> {
		return this.end();
	}

	/** Says goodbye on every connection; those that the server does not close in time are cut. */
	override async end(): Promise<void> {
		await super.end();
		const cut = () => {
			for (const client of this.#open) client.connection.stream.destroy();
		};
		setTimeout(cut, closeMs).unref();
	}
}

/** Whether the connection broke or was ended by the server, so that nothing that was not committed ever will be. */
export function isConnectionLost(error: unknown): boolean {
	if (error instanceof pg.DatabaseError) return /^(08|57P)/.test(error.code ?? '');
	return error instanceof Error && !(error instanceof StorageError);
}

/** PostgreSQL's codes for what passes: 25P03 and 25P04 are timeouts of a transaction, 57014 is a cancelled statement. */
const transientCodes: ReadonlySet<unknown> = new Set(['25P03', '25P04', '40001', '40P01', '57014']);

/** Whether what has failed before its COMMIT, so that nothing of it is stored, may succeed when it is tried again. */
export function isTransient(error: unknown): boolean {
	return (
		error instanceof ConcurrentChangeError ||
		isConnectionLost(error) ||
		transientCodes.has((error as { code?: unknown }).code)
	);
}

/**
 * The answers to statements of one transaction that were sent together, in this order.
 * @throws the error of the first that failed: what the others say, or who hears first, follows from it
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
		// What came in the same moment is known now; the rest is not waited for, since a silent server takes long.
		await nextTurn();
		throw errors.find((error) => error !== undefined);
	}
}

/** The same for statements that `send` sends, which leave in one piece. */
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

/** Connections that have broken; what is sent on them goes nowhere. */
const broken = new WeakSet<pg.ClientBase>();

/** Nothing is stored: no COMMIT was sent, or the server has answered it with ROLLBACK. */
class NotCommittedError extends Error {}

/** Ends a transaction. @throws what `isRolledBack` knows where nothing is stored for sure */
export async function commit(client: pg.ClientBase, query_timeout?: number): Promise<void> {
	if (broken.has(client)) throw new NotCommittedError('the connection broke before COMMIT was sent');
	const statement = { text: 'COMMIT', query_timeout };
	const { command } = await client.query(statement);
	// So a server answers where a statement had failed.
	if (command !== 'COMMIT') throw new NotCommittedError('the transaction was rolled back');
}

/**
 * Whether an error of `commit` leaves no doubt that nothing is stored. 25P03 does: the session had been ended for its
 * idleness when the COMMIT came. Any other may come of a transaction that is stored: a connection may be lost after it,
 * and Citus says XX000 where a node does not answer.
 */
export function isRolledBack(error: unknown): boolean {
	return error instanceof NotCommittedError || (error as { code?: unknown }).code === '25P03';
}

/**
 * Whether two transactions waited for each other, until the server ended this one. All lock in one order but for uploads
 * that repeat the same new tids in another order. Rare: a retry has the order of what it repeats. Sorting rows would avoid
 * it, and lose the order of arrival.
 */
export function isDeadlock(error: unknown): boolean {
	return (error as { code?: unknown }).code === '40P01';
}

/** Whether a lock was waited for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
	return (error as { code?: unknown }).code === '55P03';
}

/** Whether another transaction has kept this one from its end; begun anew, it finds what that one has left. */
export function isConcurrentChange(error: unknown): boolean {
	return error instanceof ConcurrentChangeError || isDeadlock(error);
}

/** Kysely on one schema of a pool. */
export function kyselyOver<Tables>(pool: pg.Pool, schema: string): Kysely<Tables> {
	return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
}

/** Names of one stage's schemas. They are made of numbers and a checked stage, never of what a client sent. */
export class SchemaNames {
	readonly #prefix: string;

	constructor(stage: string | undefined) {
		// No stage has an underscore, so no two stages share a name.
		if (stage !== undefined && !/^[a-z0-9-]{1,30}$/.test(stage)) throw new Error('an unchecked stage');
		this.#prefix = stage === undefined ? 'caskade' : `caskade_${stage}`;
	}

	get control(): string {
		return `${this.#prefix}_control`;
	}

	/** A regular expression for those of accounts. */
	get accounts(): string {
		return `^${this.#prefix}_account_[0-9]+$`;
	}

	account(accountId: number): string {
		if (!Number.isSafeInteger(accountId) || accountId < 1) throw new Error('an account id is a whole number');
		return `${this.#prefix}_account_${accountId}`;
	}
}

/** A connection failure in a sentence that shows no password. */
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
	};
	const reason =
		reasons[code ?? ''] ??
		(error instanceof pg.DatabaseError
			? `The PostgreSQL server at ${server} says: ${message}.`
			: /timeout|terminated/.test(message)
				? `No PostgreSQL server answers at ${server}.`
				: undefined);
	return reason ? new OperatorError(reason, { cause: error }) : new Error(message, { cause: error });
}
