import { monotonicMs } from '../../../clock.ts';
import { QueueFullError, UnavailableError } from '../../../errors.ts';

/** A transaction that takes longer waits for a lock, or for a server that does not answer. */
const slowAfterMs = 400;
/** A transaction of several accounts has a shorter `lock_timeout`, so one that takes this long waits for something else. */
const slowSharedAfterMs = 2000;
/** An account counts as slow for this long afterwards, unless a transaction of it is quick in between. */
const slowForMs = 5000;

/** The use of a connection by one account, or by several that share a transaction. */
export class Turn {
	/** In ascending order. */
	readonly accountIds: readonly number[];
	isSlow: boolean;
	/** Whether it must give its connection up. Its transaction is rolled back, and its requests wait again. */
	isPreempted = false;
	#end: (() => void) | undefined;

	constructor(accountIds: readonly number[], isSlow: boolean) {
		this.accountIds = accountIds;
		this.isSlow = isSlow;
	}

	/** Sets how to end the transaction. `end` must do nothing once that is too late. */
	onPreempt(end: () => void): void {
		this.#end = end;
		if (this.isPreempted) end();
	}

	end(): void {
		this.isPreempted = true;
		this.#end?.();
	}

	/** For operators. */
	preemptedError(): UnavailableError {
		const which =
			this.accountIds.length === 1
				? `account ${this.accountIds}`
				: `one of ${this.accountIds.length} accounts`;
		return new UnavailableError(`${which} is slow and waits, so that others can go on`);
	}
}

export interface FairSchedulerOptions {
	/** Number of connections. */
	readonly places: number;
	/** The maximum number of waiting requests. */
	readonly length: number;
	/** The maximum number of accounts that may share a turn; 1 by default. */
	readonly maxAccounts?: () => number;
	/** Whether an account takes one turn at a time. */
	readonly isAlone?: ((accountId: number) => boolean) | undefined;
	/** Handles the waiting requests of the turn's accounts; never rejects. */
	readonly work: (turn: Turn) => Promise<void>;
}

/**
 * Shares a few connections fairly. Accounts take turns. One account has at most half of the connections, and all slow
 * accounts together have at most half, so that an account that is locked, or whose node does not answer, leaves the
 * rest to others. It is unknown beforehand which account will be slow, so a turn that proves to be one slow turn too
 * many is preempted, and waits again among the slow. Several accounts share a turn while none of them is slow. If one
 * is, each goes alone next time.
 */
export class FairScheduler<Item> {
	readonly #options: FairSchedulerOptions;
	readonly #half: number;
	/** In the order in which accounts get turns. */
	readonly #waiting = new Map<number, Item[]>();
	readonly #running = new Set<Turn>();
	readonly #slowUntilMs = new Map<number, number>();
	/** Accounts that shared a slow turn, until each has been quick by itself. */
	readonly #suspect = new Set<number>();
	/** Requests whose outcome is not known yet, by account. */
	readonly #depthOf = new Map<number, number>();
	#depth = 0;
	#isPumpDue = false;
	#whenIdle: (() => void)[] = [];

	constructor(options: FairSchedulerOptions) {
		this.#options = options;
		this.#half = Math.max(1, Math.floor(options.places / 2));
	}

	get depth(): number {
		return this.#depth;
	}

	/** Counts a request until its outcome is known. @throws QueueFullError */
	async enter<Outcome>(accountId: number, request: () => Promise<Outcome>): Promise<Outcome> {
		if (this.#depth >= this.#options.length || this.#isFullOfSlow(accountId)) throw new QueueFullError();
		this.#count(accountId, 1);
		try {
			return await request();
		} finally {
			this.#count(accountId, -1);
		}
	}

	#count(accountId: number, difference: 1 | -1): void {
		this.#depth += difference;
		const depth = (this.#depthOf.get(accountId) ?? 0) + difference;
		if (depth > 0) this.#depthOf.set(accountId, depth);
		else this.#depthOf.delete(accountId);
	}

	/** Slow accounts may fill half of the queue. */
	#isFullOfSlow(accountId: number): boolean {
		if (!this.#isSlow(accountId)) return false;
		let depth = 0;
		for (const id of this.#slowUntilMs.keys()) depth += this.#depthOf.get(id) ?? 0;
		return depth >= this.#options.length / 2;
	}

	/** Queues an item. `pumpSoon` then gives its account a turn. */
	add(accountId: number, item: Item): void {
		const items = this.#waiting.get(accountId);
		if (items) items.push(item);
		else this.#waiting.set(accountId, [item]);
	}

	/** Takes all waiting items of an account. */
	take(accountId: number): Item[] {
		const items = this.#waiting.get(accountId) ?? [];
		this.#waiting.delete(accountId);
		return items;
	}

	/** Queues items again, before those that have arrived since. */
	putBack(accountId: number, items: readonly Item[]): void {
		if (items.length > 0) this.#waiting.set(accountId, [...items, ...(this.#waiting.get(accountId) ?? [])]);
	}

	/** Gives turns on the next tick, so that requests that arrive together share a transaction. */
	pumpSoon(): void {
		if (this.#isPumpDue) return;
		this.#isPumpDue = true;
		setImmediate(() => {
			this.#isPumpDue = false;
			this.#pump();
		});
	}

	/** Gives turns while connections are free. */
	#pump(): void {
		for (let turn = this.#next(); turn; turn = this.#next()) void this.#run(turn);
	}

	#next(): Turn | undefined {
		const running = [...this.#running];
		if (running.length === this.#options.places) return undefined;
		const slow = running.filter(({ isSlow }) => isSlow).length;
		const maxTurns = (accountId: number) => (this.#options.isAlone?.(accountId) ? 1 : this.#half);
		const mayRun = (accountId: number) =>
			running.filter(({ accountIds }) => accountIds.includes(accountId)).length < maxTurns(accountId) &&
			(slow < this.#half || !this.#isSlow(accountId));
		const first = this.#waiting.keys().find(mayRun);
		if (first === undefined) return undefined;
		const maxOthers = this.#canShare(first) ? (this.#options.maxAccounts?.() ?? 1) - 1 : 0;
		const others = this.#waiting
			.keys()
			.filter((accountId) => accountId !== first && this.#canShare(accountId) && mayRun(accountId))
			.take(maxOthers);
		const accountIds = [first, ...others].sort((a, b) => a - b);
		return new Turn(accountIds, this.#isSlow(first));
	}

	#isSlow(accountId: number): boolean {
		return (this.#slowUntilMs.get(accountId) ?? 0) > monotonicMs();
	}

	#canShare(accountId: number): boolean {
		return !this.#suspect.has(accountId) && !this.#isSlow(accountId);
	}

	/** One of a turn's accounts is slow, but it is unknown which. Each goes alone next time. */
	separate({ accountIds }: Turn): void {
		for (const accountId of accountIds) this.#suspect.add(accountId);
	}

	async #run(turn: Turn): Promise<void> {
		const { accountIds } = turn;
		this.#running.add(turn);
		let isLong = false;
		const onLong = () => {
			isLong = true;
			if (accountIds.length > 1) {
				this.separate(turn);
				turn.end();
				return;
			}
			this.#remember(accountIds);
			turn.isSlow = true;
			if ([...this.#running].filter(({ isSlow }) => isSlow).length > this.#half) turn.end();
		};
		const timer = setTimeout(onLong, accountIds.length > 1 ? slowSharedAfterMs : slowAfterMs);
		await this.#options.work(turn);
		clearTimeout(timer);
		this.#running.delete(turn);
		if (accountIds.length === 1) {
			if (isLong) this.#remember(accountIds);
			else this.#slowUntilMs.delete(accountIds[0] as number);
			this.#suspect.delete(accountIds[0] as number);
		}
		this.#pump();
		if (this.#running.size === 0) for (const done of this.#whenIdle.splice(0)) done();
	}

	#remember(accountIds: readonly number[]): void {
		for (const accountId of accountIds) this.#slowUntilMs.set(accountId, monotonicMs() + slowForMs);
		setTimeout(() => this.#forget(), slowForMs + 1).unref();
	}

	/** Accounts that are no longer slow may use all connections again. */
	#forget(): void {
		for (const accountId of this.#slowUntilMs.keys())
			if (!this.#isSlow(accountId)) this.#slowUntilMs.delete(accountId);
		this.#pump();
	}

	async idle(): Promise<void> {
		if (this.#running.size > 0 || this.#waiting.size > 0)
			await new Promise<void>((resolve) => {
				this.#whenIdle.push(resolve);
			});
	}
}
