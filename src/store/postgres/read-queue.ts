import type pg from 'pg';
import { StorageError } from '../../errors.ts';
import { isConnectionLost, type PoolOptions, PostgresPool } from './connection.ts';
import { type Turn, Turns } from './turns.ts';

const readingPool: PoolOptions = {
	size: 4,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
};
/** Reads that may wait, at most, and how long. */
const length = 8192;
const waitAtMostMs = 1500;
/** Reads of one account that share a connection. */
const groupLimit = 32;

interface WaitingRead {
	readonly text: string;
	readonly values: readonly unknown[];
	readonly timer: NodeJS.Timeout;
	isLate: boolean;
	readonly resolve: (result: pg.QueryResult) => void;
	readonly reject: (error: Error) => void;
}

/** Reads that wait for a connection to one database server. */
export class ReadQueue {
	readonly #pool: PostgresPool;
	readonly #turns: Turns<WaitingRead>;
	readonly #onError: (error: Error) => void;

	/** @param onError a connection broke while nobody used it, or an account is slow */
	constructor(address: string, onError: (error: Error) => void) {
		this.#pool = new PostgresPool(address, readingPool, onError);
		this.#turns = new Turns({ places: readingPool.size, length, work: (turn) => this.#work(turn) });
		this.#onError = onError;
	}

	/** @throws QueueFullError, or whatever the server says */
	query<Row extends pg.QueryResultRow>(
		accountId: number,
		text: string,
		values: readonly unknown[] = [],
	): Promise<pg.QueryResult<Row>> {
		return this.#turns.enter(accountId, () => {
			const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
			const timer = setTimeout(() => {
				read.isLate = true;
				reject(new StorageError('no connection to the database in time'));
			}, waitAtMostMs);
			const read: WaitingRead = { text, values, timer, isLate: false, resolve, reject };
			this.#turns.add(accountId, read);
			this.#turns.pump();
			return promise;
		});
	}

	async #work(turn: Turn): Promise<void> {
		const live = this.#turns.take(turn.accountId).filter(({ isLate }) => !isLate);
		this.#turns.putBack(turn.accountId, live.slice(groupLimit));
		const group = live.slice(0, groupLimit);
		for (const { timer } of group) clearTimeout(timer);
		// A connection that broke while idle may not be known to have broken before it is used: then once more.
		const again = await this.#attempt(turn, group, !turn.isEnded);
		if (again.length > 0) await this.#attempt(turn, again, false);
		if (turn.isEnded) this.#onError(turn.endError());
	}

	/** @returns those that may be read again, since their connection was lost */
	async #attempt(turn: Turn, group: readonly WaitingRead[], mayFail: boolean): Promise<WaitingRead[]> {
		if (group.length === 0) return [];
		const results = await this.#readAll(turn, group);
		return group.filter((read, index) => {
			const result = results[index] as PromiseSettledResult<pg.QueryResult>;
			if (result.status === 'fulfilled') read.resolve(result.value);
			else if (turn.isEnded) read.reject(turn.endError());
			else if (mayFail && isConnectionLost(result.reason)) return true;
			else read.reject(result.reason);
			return false;
		});
	}

	async #readAll(turn: Turn, group: readonly WaitingRead[]): Promise<PromiseSettledResult<pg.QueryResult>[]> {
		try {
			const client = await this.#pool.acquire(waitAtMostMs);
			turn.endBy(() => this.#pool.cut(client));
			const results = await Promise.allSettled(
				group.map(({ text, values }) => client.query(text, [...values])),
			);
			const lost = results.find((result) => result.status === 'rejected' && isConnectionLost(result.reason));
			client.release(turn.isEnded || (lost as PromiseRejectedResult | undefined)?.reason);
			return results;
		} catch (reason) {
			return group.map(() => ({ status: 'rejected', reason }));
		}
	}

	async close(): Promise<void> {
		await this.#turns.idle();
		await this.#pool.end();
	}
}
