import { monotonicMs } from '../../clock.ts';
import { QueueFullError, StorageError } from '../../errors.ts';

/** A transaction that takes so long waits for a lock, or for a server that does not answer. */
const slowAfterMs = 400;
/** For so long an account counts as slow after that, unless it is quick in between. */
const slowForMs = 5000;

/** An account's use of a connection. */
export class Turn {
	readonly accountId: number;
	isSlow: boolean;
	/** Whether it has to make room for others: what it has begun is to be undone, and waits again. */
	isEnded = false;
	#end: (() => void) | undefined;

	constructor(accountId: number, isSlow: boolean) {
		this.accountId = accountId;
		this.isSlow = isSlow;
	}

	/** Says what ends it. Where that is not possible any more, it does nothing. */
	endBy(end: () => void): void {
		this.#end = end;
		if (this.isEnded) end();
	}

	end(): void {
		this.isEnded = true;
		this.#end?.();
	}

	/** What operators read. */
	endError(): StorageError {
		return new StorageError(`account ${this.accountId} is slow and waits, so that others can go on`);
	}
}

export interface TurnsOptions {
	/** Connections. */
	readonly places: number;
	/** Requests that may wait, at most. */
	readonly length: number;
	/** Works on what waits for an account; never rejects. */
	readonly work: (turn: Turn) => Promise<void>;
}

/**
 * Whose turn it is to use one of few connections. Accounts take turns, one has at most half of the connections, and all
 * accounts that are slow have together at most half: one that is locked, or whose node does not answer, leaves the rest
 * to others. Nobody knows beforehand who will be slow, so whoever turns out to be one too many is ended, and waits for
 * a place among the slow.
 */
export class Turns<Item> {
	readonly #options: TurnsOptions;
	readonly #half: number;
	/** In the order in which accounts take turns. */
	readonly #waiting = new Map<number, Item[]>();
	readonly #running = new Set<Turn>();
	readonly #slowUntilMs = new Map<number, number>();
	/** Requests that have entered and not left, by account. */
	readonly #depthOf = new Map<number, number>();
	#depth = 0;
	#whenIdle: (() => void)[] = [];

	constructor(options: TurnsOptions) {
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

	/** Lets something wait for its account's turn, which `pump` gives. */
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

	/** Gives turns while there are places. */
	pump(): void {
		while (this.#running.size < this.#options.places) {
			const accountId = this.#next();
			if (accountId === undefined) return;
			void this.#run(new Turn(accountId, this.#isSlow(accountId)));
		}
	}

	#next(): number | undefined {
		const running = [...this.#running];
		const slow = running.filter(({ isSlow }) => isSlow).length;
		return this.#waiting.keys().find((accountId) => {
			const own = running.filter((turn) => turn.accountId === accountId).length;
			return own < this.#half && (slow < this.#half || !this.#isSlow(accountId));
		});
	}

	#isSlow(accountId: number): boolean {
		return (this.#slowUntilMs.get(accountId) ?? 0) > monotonicMs();
	}

	async #run(turn: Turn): Promise<void> {
		const { accountId } = turn;
		this.#running.add(turn);
		let isLong = false;
		const timer = setTimeout(() => {
			isLong = true;
			this.#remember(accountId);
			turn.isSlow = true;
			if ([...this.#running].filter(({ isSlow }) => isSlow).length > this.#half) turn.end();
		}, slowAfterMs);
		await this.#options.work(turn);
		clearTimeout(timer);
		this.#running.delete(turn);
		if (isLong) this.#remember(accountId);
		else this.#slowUntilMs.delete(accountId);
		this.pump();
		if (this.#running.size === 0) for (const done of this.#whenIdle.splice(0)) done();
	}

	#remember(accountId: number): void {
		this.#slowUntilMs.set(accountId, monotonicMs() + slowForMs);
		setTimeout(() => this.#forget(), slowForMs + 1).unref();
	}

	/** Those that were slow may find a place like everybody else again. */
	#forget(): void {
		for (const accountId of this.#slowUntilMs.keys())
			if (!this.#isSlow(accountId)) this.#slowUntilMs.delete(accountId);
		this.pump();
	}

	/** Resolves when nothing waits and nothing runs. */
	async idle(): Promise<void> {
		if (this.#running.size > 0 || this.#waiting.size > 0)
			await new Promise<void>((resolve) => {
				this.#whenIdle.push(resolve);
			});
	}
}
