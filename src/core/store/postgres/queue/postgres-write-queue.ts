import pg from 'pg';
import { monotonicMs } from '../../../clock.ts';
import { CommitLostError, readBack } from '../engine/commit-lost.ts';
import {
	isDeadlock,
	isLockTimeout,
	isTransient,
	type PostgresPool,
	pauseBeforeRetry,
	storageError,
} from '../engine/postgres-connection.ts';
import { hasBackgroundWork } from '../engine/postgres-run-steps.ts';
import { FairScheduler, type Turn } from './fair-scheduler.ts';

/** How often a group is repeated after a transient failure. */
const maxRetries = 5;
/** How long to read back the outcome of a lost COMMIT. */
const defaultReadBackMs = 10_000;

export interface WaitingWrite {
	readonly accountId: number;
	/** Answers the request if it is too late to store it. @returns whether it is */
	settleIfLate(): boolean;
	reject(error: Error): void;
}

/** How writes of one kind are stored. */
export interface WriteKind<Waiting extends WaitingWrite> {
	/** The maximum number of writes in a transaction. More would delay the first of them for little gain. */
	readonly maxGroup: number;
	/** The maximum number of accounts in a transaction. */
	readonly maxAccounts: number;
	/** Whether an account's transactions would be in each other's way, so that it has one at a time. */
	readonly isAlone?: (accountId: number) => boolean;
	/** Whether a write may join a group of at least one. */
	fits(group: readonly Waiting[], next: Waiting): boolean;
	/** How long a group may wait for a connection. */
	acquireWithinMs(group: readonly Waiting[]): number;
	/**
	 * Stores a group in one transaction, all or nothing.
	 * @param committing called before COMMIT is sent; from then on the turn cannot be preempted
	 * @returns a function that gives the answers; `again` if nothing was stored because some writes had expired
	 * @throws where nothing was stored, or the outcome is unknown
	 */
	store(
		client: pg.PoolClient,
		group: readonly Waiting[],
		committing: () => void,
	): Promise<(() => void) | 'again'>;
}

export interface WriteQueueOptions {
	readonly pool: PostgresPool;
	/** Makes an account's schema ready; undefined where it is. */
	readonly beforeUse?: (accountId: number) => Promise<void> | undefined;
	/** The number of concurrent transactions, and of connections in the pool. */
	readonly connections: number;
	/** The maximum number of waiting writes. */
	readonly length: number;
	/** How long to read back the outcome of a lost COMMIT. */
	readonly readBackMs?: number;
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	readonly onError: (error: unknown) => void;
	readonly onWaiting: (accountId: number) => void;
}

/**
 * Writes that wait for a connection. A free connection takes the waiting writes of one account, or of several quick
 * ones, and stores them in one transaction, so that many requests share one commit.
 */
export class WriteQueue<Waiting extends WaitingWrite> {
	readonly #kind: WriteKind<Waiting>;
	readonly #options: WriteQueueOptions;
	readonly #turns: FairScheduler<Waiting>;

	constructor(kind: WriteKind<Waiting>, options: WriteQueueOptions) {
		this.#kind = kind;
		this.#options = options;
		const { connections: places, length, pool } = options;
		// Unknown until the first connection is open.
		const maxAccounts = () => (pool.isOnlyNode ? kind.maxAccounts : 1);
		this.#turns = new FairScheduler({
			places,
			length,
			maxAccounts,
			isAlone: kind.isAlone,
			work: (turn) => this.#work(turn),
		});
	}

	get depth(): number {
		return this.#turns.depth;
	}

	/**
	 * Waits for the outcome of a write.
	 * @param make makes the waiting write, which settles the promise
	 * @throws QueueFullError, StorageError
	 */
	store<Outcome>(
		accountId: number,
		make: (settle: Pick<PromiseWithResolvers<Outcome>, 'resolve' | 'reject'>) => Waiting,
	): Promise<Outcome> {
		return this.#turns.enter(accountId, () => {
			const { promise, ...settle } = Promise.withResolvers<Outcome>();
			const waiting = make(settle);
			const before = this.#options.beforeUse?.(accountId);
			if (before)
				before.then(
					() => this.#enqueue(waiting),
					(error) => {
						this.#options.onError(error);
						this.#fail([waiting], error);
					},
				);
			else this.#enqueue(waiting);
			return promise;
		});
	}

	#enqueue(waiting: Waiting): void {
		this.#turns.add(waiting.accountId, waiting);
		this.#turns.pumpSoon();
	}

	#fail(group: readonly Waiting[], error: unknown): void {
		for (const waiting of group) if (!waiting.settleIfLate()) waiting.reject(storageError(error));
	}

	/** The writes of a turn's accounts that fit together, in order. */
	#nextGroup({ accountIds }: Turn): Waiting[] {
		const group: Waiting[] = [];
		for (const accountId of accountIds) {
			const live = this.#turns.take(accountId).filter((waiting) => !waiting.settleIfLate());
			const isLeft = (waiting: Waiting) =>
				group.length === this.#kind.maxGroup || (group.length > 0 && !this.#kind.fits(group, waiting));
			let taken = 0;
			for (const waiting of live) {
				if (isLeft(waiting)) break;
				group.push(waiting);
				taken++;
			}
			this.#turns.putBack(accountId, live.slice(taken));
		}
		return group;
	}

	async #work(turn: Turn): Promise<void> {
		const groups = [this.#nextGroup(turn)];
		for (let group = groups.shift(); group; group = groups.shift()) {
			const error = await this.#tryAll(turn, group);
			if (error === undefined) continue;
			const isLocked = turn.accountIds.length > 1 && isLockTimeout(error);
			if (isLocked) this.#turns.separate(turn);
			if (isLocked || (turn.isPreempted && isTransient(error))) {
				this.#options.onError(turn.preemptedError());
				for (const left of [group, ...groups].reverse()) this.#putBack(left);
				return;
			}
			this.#options.onError(error);
			// Perhaps only one of them is at fault.
			if (error instanceof pg.DatabaseError && group.length > 1) groups.unshift(...group.map((one) => [one]));
			else this.#fail(group, error);
		}
	}

	#putBack(group: readonly Waiting[]): void {
		for (const waiting of group.toReversed()) this.#turns.putBack(waiting.accountId, [waiting]);
	}

	/** @returns the error if nothing was stored */
	async #tryAll(turn: Turn, all: readonly Waiting[]): Promise<unknown> {
		const commit = { isUnderWay: false };
		for (let retries = 0; ; ) {
			const group = all.filter((waiting) => !waiting.settleIfLate());
			if (group.length === 0) return undefined;
			const startedAtMs = monotonicMs();
			try {
				const answer = await this.#attempt(turn, group, commit);
				if (answer === 'again') continue;
				this.#options.onCommit({ size: group.length, seconds: (monotonicMs() - startedAtMs) / 1000 });
				answer();
				return undefined;
			} catch (error) {
				if (!isTransient(error) || turn.isPreempted) return error;
				if (isDeadlock(error)) continue;
				if (retries === maxRetries) return error;
				this.#options.onError(error);
				await pauseBeforeRetry(retries++);
			}
		}
	}

	async #attempt(
		turn: Turn,
		group: readonly Waiting[],
		commit: { isUnderWay: boolean },
	): Promise<(() => void) | 'again'> {
		const { pool, onWaiting, readBackMs = defaultReadBackMs } = this.#options;
		const client = await pool.acquire(this.#kind.acquireWithinMs(group));
		turn.onPreempt(() => {
			if (!commit.isUnderWay) pool.cut(client);
		});
		try {
			const answer = await this.#kind.store(client, group, () => {
				commit.isUnderWay = true;
			});
			if (hasBackgroundWork(client)) for (const { accountId } of group) onWaiting(accountId);
			client.release();
			return answer;
		} catch (error) {
			client.release(turn.isPreempted || (error as Error));
			if (error instanceof CommitLostError) return readBack(pool, error, readBackMs);
			throw error;
		}
	}

	idle(): Promise<void> {
		return this.#turns.idle();
	}
}
