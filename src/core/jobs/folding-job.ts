import { reasonOf } from '../errors.ts';
import type { WorkLog } from '../log.ts';
import type { WatchedMetric } from '../metrics.ts';
import { pauseMs } from '../store/batch-sizer.ts';
import { foldOnce } from '../store/fold-all.ts';
import type { Maintenance } from '../store/maintenance.ts';
import { News } from '../store/news.ts';
import type { Store } from '../store/store.ts';
import { WakeableSleep } from '../wakeable-sleep.ts';

/** What it tells of profiles and tasks. */
export const foldingWaiting: WatchedMetric = {
	name: 'caskade_folding_waiting',
	help: 'Profiles and tasks waiting for the background job that updates them.',
};

/** Interval of checks of all accounts, which find the work that killed processes have left. */
const roundEveryMs = 600_000;
/** Pause for an account after an error. */
const retryAfterErrorMs = 5000;

export interface FoldingOptions {
	readonly log: WorkLog;
	/** Told how many profiles and tasks wait, in all accounts that are known to have some. */
	readonly onWaiting: (count: number) => void;
	/** Goes on with what a killed command has left in an account with work waiting. */
	readonly resume?: (accountId: number) => Promise<void>;
	/** Stops the job after the current batch. */
	readonly signal: AbortSignal;
}

/**
 * Does the background work of accounts, one batch of each in turn. `wake` announces an account with work. From time to
 * time, all accounts are checked.
 */
export class Folder {
	readonly #store: Store & Maintenance;
	readonly #options: FoldingOptions;
	/** Accounts with work waiting: the cursor of the last batch, and the earliest time of the next. */
	readonly #cursors = new Map<number, { after: string; notBeforeMs: number }>();
	readonly #counts = new Map<number, number>();
	readonly #pause = new WakeableSleep();
	readonly #news: News;

	constructor(store: Store & Maintenance, options: FoldingOptions) {
		this.#store = store;
		this.#news = new News(store);
		this.#options = options;
	}

	/** Announces that an account has work waiting. */
	wake(accountId: number): void {
		if (!this.#cursors.has(accountId)) this.#cursors.set(accountId, { after: '', notBeforeMs: 0 });
		this.#pause.wake();
	}

	/** Runs until the signal is aborted. */
	async run(): Promise<void> {
		const { signal } = this.#options;
		signal.addEventListener('abort', () => this.#pause.wake());
		let nextRoundAtMs = performance.now();
		while (!signal.aborted) {
			if (performance.now() >= nextRoundAtMs) {
				nextRoundAtMs = performance.now() + roundEveryMs;
				await this.#checkAll();
			}
			for (const [accountId, { after, notBeforeMs }] of [...this.#cursors])
				if (!signal.aborted && notBeforeMs <= performance.now()) await this.#foldBatch(accountId, after);
			const nextMs = [...this.#cursors.values()].map(({ notBeforeMs }) => notBeforeMs);
			await this.#pause.sleep(Math.max(1, Math.min(nextRoundAtMs, ...nextMs) - performance.now()));
		}
	}

	async #checkAll(): Promise<void> {
		try {
			for (const id of await this.#news.among(await this.#store.control.accountIds())) {
				if (this.#options.signal.aborted) return;
				await this.#check(id);
			}
		} catch (error) {
			this.#fail(error);
		}
	}

	async #check(accountId: number): Promise<void> {
		try {
			if ((await this.#count(accountId)) === 0) {
				this.#news.done(accountId);
				return;
			}
			this.wake(accountId);
			await this.#options.resume?.(accountId);
		} catch (error) {
			await this.#failWith(accountId, error);
		}
	}

	async #count(accountId: number): Promise<number> {
		const count = await this.#store.waiting(accountId);
		this.#setCount(accountId, count);
		return count;
	}

	#setCount(accountId: number, count: number): void {
		if (count === (this.#counts.get(accountId) ?? 0)) return;
		if (count > 0) this.#counts.set(accountId, count);
		else this.#counts.delete(accountId);
		this.#options.onWaiting(this.#counts.values().reduce((sum, one) => sum + one, 0));
	}

	async #foldBatch(accountId: number, after: string): Promise<void> {
		const beganMs = performance.now();
		// A `wake` from now on may announce work that this batch misses.
		this.#cursors.delete(accountId);
		try {
			const name = await foldOnce(this.#store, accountId, after);
			if (name !== undefined) this.#schedule(accountId, name, Math.max(pauseMs, performance.now() - beganMs));
			await this.#count(accountId);
		} catch (error) {
			if (await this.#failWith(accountId, error)) this.#schedule(accountId, '', retryAfterErrorMs);
		}
	}

	#schedule(accountId: number, after: string, inMs: number): void {
		this.#cursors.set(accountId, { after, notBeforeMs: performance.now() + inMs });
	}

	/** @returns whether to try again: the account may have been deleted */
	async #failWith(accountId: number, error: unknown): Promise<boolean> {
		const isThere = await this.#store.control.isAccountInUse(accountId).catch(() => true);
		if (isThere) this.#fail(error, accountId);
		else this.#setCount(accountId, 0);
		return isThere;
	}

	#fail(error: unknown, account?: number): void {
		this.#options.log.error({ account, reason: reasonOf(error) }, 'folding failed');
	}
}
