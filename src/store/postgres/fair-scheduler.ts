import { monotonicMs } from '../../clock.ts';
import { QueueFullError, StorageError } from '../../errors.ts';

/** A transaction that takes so long waits for a lock, or for a server that does not answer. */
const slowAfterMs = 400;
/** A transaction of several accounts waits for no lock so long, see `lock_timeout`; what it waits for else is not theirs. */
const slowSharedAfterMs = 2000;
/** For so long an account counts as slow after that, unless it is quick in between. */
const slowForMs = 5000;

/** The use of a connection by an account, or by several together. */
export class Turn {
	/** In the order of their numbers. */
	readonly accountIds: readonly number[];
	isSlow: boolean;
	/** Whether it has to make room for others: what it has begun is to be undone, and waits again. */
	isPreempted = false;
	#end: (() => void) | undefined;

	constructor(accountIds: readonly number[], isSlow: boolean) {
		this.accountIds = accountIds;
		this.isSlow = isSlow;
	}

	/** Says what ends it. Where that is not possible any more, it does nothing. */
	onPreempt(end: () => void): void {
		this.#end = end;
		if (this.isPreempted) end();
	}

	end(): void {
		this.isPreempted = true;
		this.#end?.();
	}

	/** What operators read. */
	preemptedError(): StorageError {
		const which =
			this.accountIds.length === 1
				? `account ${this.accountIds}`
				: `one of ${this.accountIds.length} accounts`;
		return new StorageError(`${which} is slow and waits, so that others can go on`);
	}
}

export interface FairSchedulerOptions {
	/** Connections. */
	readonly places: number;
	/** Requests that may wait, at most. */
	readonly length: number;
	/** Of how many accounts what waits may be worked on in one turn; 1 where it is missing. */
	readonly maxAccounts?: () => number;
	/** Works on what waits for an account; never rejects. */
	readonly work: (turn: Turn) => Promise<void>;
}

/**
 * Whose turn it is to use one of few connections. Accounts take turns, one has at most half of the connections, and all
 * accounts that are slow have together at most half: one that is locked, or whose node does not answer, leaves the rest
 * to others. Nobody knows beforehand who will be slow, so whoever turns out to be one too many is ended, and waits for
 * a place among the slow. Several accounts share a turn while none of them is slow; if one is, each goes alone next time.
 */
export class FairScheduler<Item> {
	readonly #options: FairSchedulerOptions;
	readonly #half: number;
	/** In the order in which accounts take turns. */
	readonly #waiting = new Map<number, Item[]>();
	readonly #running = new Set<Turn>();
	readonly #slowUntilMs = new Map<number, number>();
	/** Accounts of a turn in which one was slow, until each has been quick by itself. */
	readonly #suspect = new Set<number>();
	/** Requests that have entered and not left, by account. */
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

	/** Counts a request until its outcome is there. @throws QueueFullError */
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

	/** Slow accounts may fill half of the room in which requests wait. */
	#isFullOfSlow(accountId: number): boolean {
		if (!this.#isSlow(accountId)) return false;
		let depth = 0;
		for (const id of this.#slowUntilMs.keys()) depth += this.#depthOf.get(id) ?? 0;
		return depth >= this.#options.length / 2;
	}

	/** Lets something wait for its account's turn, which `pumpSoon` gives. */
	add(accountId: number, item: Item): void {
		const items = this.#waiting.get(accountId);
		if (items) items.push(item);
		else this.#waiting.set(accountId, [item]);
	}

	/** Takes all that waits for an account. */
	take(accountId: number): Item[] {
		const items = this.#waiting.get(accountId) ?? [];
		this.#waiting.delete(accountId);
		return items;
	}

	/** Lets what was taken wait again, before what has come since. */
	putBack(accountId: number, items: readonly Item[]): void {
		if (items.length > 0) this.#waiting.set(accountId, [...items, ...(this.#waiting.get(accountId) ?? [])]);
	}

	/** Gives turns a moment later, so that what arrives together goes together. */
	pumpSoon(): void {
		if (this.#isPumpDue) return;
		this.#isPumpDue = true;
		setImmediate(() => {
			this.#isPumpDue = false;
			this.#pump();
		});
	}

	/** Gives turns while there are places. */
	#pump(): void {
		for (let turn = this.#next(); turn; turn = this.#next()) void this.#run(turn);
	}

	#next(): Turn | undefined {
		const running = [...this.#running];
		if (running.length === this.#options.places) return undefined;
		const slow = running.filter(({ isSlow }) => isSlow).length;
		const mayRun = (accountId: number) =>
			running.filter(({ accountIds }) => accountIds.includes(accountId)).length < this.#half &&
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

	/** Whether it may share a turn. */
	#canShare(accountId: number): boolean {
		return !this.#suspect.has(accountId) && !this.#isSlow(accountId);
	}

	/** One of a turn's accounts is slow, and nobody knows which: each goes alone next time. */
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

	/** Those that were slow may find a place like everybody else again. */
	#forget(): void {
		for (const accountId of this.#slowUntilMs.keys())
			if (!this.#isSlow(accountId)) this.#slowUntilMs.delete(accountId);
		this.#pump();
	}

	/** Resolves when nothing waits and nothing runs. */
	async idle(): Promise<void> {
		if (this.#running.size > 0 || this.#waiting.size > 0)
			await new Promise<void>((resolve) => {
				this.#whenIdle.push(resolve);
			});
	}
}
