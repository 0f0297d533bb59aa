import type pg from 'pg';
import { UnavailableError } from '../../../errors.ts';
import { isConnectionLost, type PoolOptions, PostgresPool, pipeline } from '../engine/postgres-connection.ts';
import { runQuery } from '../engine/postgres-run-steps.ts';
import { FairScheduler, type Turn } from './fair-scheduler.ts';

const readingPool: Omit<PoolOptions, 'size'> = {
	connectTimeoutMs: 1500,
	statementTimeoutMs: 5000,
	idleInTransactionMs: 2000,
	prepares: true,
};
/** The maximum number of waiting reads, and how long they wait. */
const length = 8192;
const maxWaitMs = 1500;
/** The maximum number of reads in one turn. */
const groupLimit = 64;

interface WaitingRead {
	readonly accountId: number;
	readonly reject: (error: Error) => void;
	readonly timer: NodeJS.Timeout;
	isLate: boolean;
	readonly what:
		| {
				readonly text: string;
				readonly values: readonly unknown[];
				readonly resolve: (result: pg.QueryResult) => void;
		  }
		| {
				readonly table: keyof typeof lookUps;
				readonly key: string;
				readonly resolve: (profile: string | null) => void;
		  };
}

/** Profiles by key, many in one statement. Visits of visitors who are being erased are left out. */
const lookUps = {
	visitor: 'SELECT vid AS key, profile FROM @visitor WHERE vid IN ?list /* read visitors */',
	visit:
		'SELECT sid AS key, profile FROM @visit AS visit WHERE sid IN ?list AND EXISTS (SELECT 1 FROM @visitor AS visitor WHERE visitor.vid = visit.vid) /* read visits */',
} as const;

interface Statement {
	readonly reads: WaitingRead[];
	/** Sends the statement. @returns a function that gives its reads their answers */
	send(client: pg.PoolClient): Promise<() => void>;
}

/** Reads that wait for a connection to one database server. Those of one turn share a round trip. */
export class ReadQueue {
	readonly #pool: PostgresPool;
	readonly #turns: FairScheduler<WaitingRead>;
	readonly #schemaOf: (accountId: number) => string;
	readonly #onError: (error: Error) => void;

	/**
	 * @param size the number of connections
	 * @param onError called when an idle connection breaks, or an account is slow
	 */
	constructor(
		address: string,
		size: number,
		schemaOf: (accountId: number) => string,
		onError: (error: Error) => void,
	) {
		this.#pool = new PostgresPool(address, { ...readingPool, size }, onError);
		this.#schemaOf = schemaOf;
		this.#turns = new FairScheduler({
			places: size,
			length,
			work: (turn) => this.#work(turn),
		});
		this.#onError = onError;
	}

	/** @throws QueueFullError, or the server's error */
	query<Row extends pg.QueryResultRow>(
		accountId: number,
		text: string,
		values: readonly unknown[] = [],
	): Promise<pg.QueryResult<Row>> {
		return this.#wait(accountId, (resolve) => ({ text, values, resolve }));
	}

	/** The profile of a visitor or a visit as JSON, if there is one. @throws QueueFullError, or the server's error */
	profile(accountId: number, table: keyof typeof lookUps, key: string): Promise<string | null> {
		return this.#wait(accountId, (resolve) => ({ table, key, resolve }));
	}

	#wait<Outcome>(
		accountId: number,
		what: (resolve: (outcome: Outcome) => void) => WaitingRead['what'],
	): Promise<Outcome> {
		return this.#turns.enter(accountId, () => {
			const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
			const timer = setTimeout(() => {
				read.isLate = true;
				reject(new UnavailableError('no connection to the database in time'));
			}, maxWaitMs);
			const read: WaitingRead = { accountId, reject, timer, isLate: false, what: what(resolve) };
			this.#turns.add(accountId, read);
			this.#turns.pumpSoon();
			return promise;
		});
	}

	async #work(turn: Turn): Promise<void> {
		const [accountId] = turn.accountIds as [number];
		const live = this.#turns.take(accountId).filter(({ isLate }) => !isLate);
		this.#turns.putBack(accountId, live.slice(groupLimit));
		const group = live.slice(0, groupLimit);
		for (const { timer } of group) clearTimeout(timer);
		// An idle connection may have broken unnoticed. Reads may safely be repeated once.
		const again = await this.#attempt(turn, group, !turn.isPreempted);
		if (again.length > 0) await this.#attempt(turn, again, false);
		if (turn.isPreempted) this.#onError(turn.preemptedError());
	}

	/** @returns the reads to repeat, because their connection was lost */
	async #attempt(turn: Turn, group: readonly WaitingRead[], mayFail: boolean): Promise<WaitingRead[]> {
		if (group.length === 0) return [];
		const statements = this.#statementsOf(group);
		const results = await this.#sendAll(turn, statements);
		return statements.flatMap(({ reads }, index) => {
			const result = results[index] as PromiseSettledResult<() => void>;
			if (result.status === 'fulfilled') result.value();
			else if (turn.isPreempted) for (const { reject } of reads) reject(turn.preemptedError());
			else if (mayFail && isConnectionLost(result.reason)) return reads;
			else for (const { reject } of reads) reject(result.reason);
			return [];
		});
	}

	#statementsOf(group: readonly WaitingRead[]): Statement[] {
		const statements: Statement[] = [];
		const profiles = new Map<string, Statement>();
		for (const read of group) {
			const { accountId, what } = read;
			if (!('table' in what)) {
				const { text, values, resolve } = what;
				statements.push({
					reads: [read],
					async send(client) {
						const result = await client.query(text, [...values]);
						return () => resolve(result);
					},
				});
				continue;
			}
			const name = `${what.table} ${accountId}`;
			const known = profiles.get(name);
			if (known) known.reads.push(read);
			else profiles.set(name, this.#profiles(what.table, [read]));
		}
		return [...statements, ...profiles.values()];
	}

	#profiles(table: keyof typeof lookUps, reads: WaitingRead[]): Statement {
		const send = async (client: pg.PoolClient) => {
			const schema = this.#schemaOf((reads[0] as WaitingRead).accountId);
			const keys = reads.map(({ what }) => ('key' in what ? what.key : ''));
			const rows = await runQuery(client, { schema }, { sql: lookUps[table], values: [keys] });
			const found = new Map(rows.map(({ key, profile }) => [key, profile as string]));
			return () => {
				for (const { what } of reads) if ('key' in what) what.resolve(found.get(what.key) ?? null);
			};
		};
		return { reads, send };
	}

	async #sendAll(turn: Turn, statements: readonly Statement[]): Promise<PromiseSettledResult<() => void>[]> {
		try {
			const client = await this.#pool.acquire(maxWaitMs);
			turn.onPreempt(() => this.#pool.cut(client));
			const results = await pipeline(client, () => [
				Promise.allSettled(statements.map((statement) => statement.send(client))),
			]).then(([settled]) => settled);
			const lost = results.find((result) => result.status === 'rejected' && isConnectionLost(result.reason));
			client.release(turn.isPreempted || (lost as PromiseRejectedResult | undefined)?.reason);
			return results;
		} catch (reason) {
			return statements.map(() => ({ status: 'rejected', reason }));
		}
	}

	async close(): Promise<void> {
		await this.#turns.idle();
		await this.#pool.end();
	}
}
