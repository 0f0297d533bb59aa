import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { OperatorError } from '../store.ts';

/** Numbers of all kinds come as numbers: every integer that is stored is a safe one. */
const types: pg.CustomTypesConfig = {
	getTypeParser: (oid: number, format?: 'text' | 'binary') =>
		oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
};

export interface PoolOptions {
	/** The most connections. */
	readonly size: number;
	/** How long to wait for a connection. */
	readonly connectTimeoutMs: number;
}

/**
 * Connections to one PostgreSQL server. Statements may be sent before earlier ones are answered (pipelining), and a
 * COMMIT answers only when it is on disk, whatever the server's own setting.
 */
export function createPool(
	address: string,
	options: PoolOptions,
	onTrouble: (error: Error) => void,
): pg.Pool {
	const pool = new pg.Pool({
		connectionString: address,
		max: options.size,
		connectionTimeoutMillis: options.connectTimeoutMs,
		idleTimeoutMillis: 30_000,
		keepAlive: true,
		application_name: 'caskade',
		pipeline: true,
		types,
		onConnect: async (client) => {
			await client.query('SET synchronous_commit TO on');
		},
	});
	// A connection that breaks while nobody uses it.
	pool.on('error', onTrouble);
	return pool;
}

/** Kysely on one schema of a pool. */
export function kyselyOver<Tables>(pool: pg.Pool, schema: string): Kysely<Tables> {
	return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
}

/** Names of schemas. They are made of numbers and a checked stage, never of what a client sent. */
export const controlSchema = 'caskade_control';

export function accountSchema(accountId: number): string {
	if (!Number.isSafeInteger(accountId) || accountId < 1) throw new Error('an account id is a whole number');
	return `caskade_account_${accountId}`;
}

/** A connection failure in a sentence that shows no password. */
export function connectionError(error: unknown, address: string): Error {
	const { code, message } = error as NodeJS.ErrnoException;
	const url = URL.parse(address);
	const server = `${url?.hostname}:${url?.port || 5432}`;
	const reasons: Readonly<Record<string, string>> = {
		ECONNREFUSED: `No PostgreSQL server listens at ${server}.`,
		ENOTFOUND: `There is no host ${url?.hostname}.`,
		'28P01': `The PostgreSQL server at ${server} refuses the password.`,
		'3D000': `The PostgreSQL server at ${server} has no database of that name.`,
	};
	const reason = reasons[code ?? ''];
	return reason ? new OperatorError(reason) : new Error(message, { cause: error });
}
