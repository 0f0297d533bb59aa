import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import { KeptThread } from '../kept-thread.ts';
import type { Log } from '../log.ts';
import { foldPiece } from '../store/folding.ts';
import type { Store } from '../store/store.ts';
import { transactAgain } from '../store/transact-again.ts';
import { pauseMs } from './pace.ts';

/** How often all accounts are looked at: what a process that has been killed has left behind is done by another. */
const roundEveryMs = 600_000;
/** An account that has failed is left alone for so long. */
const troublePauseMs = 5000;

/** Does all that waits in one account, and leaves its database to those who serve in between. */
export async function foldAll(store: Store, accountId: number): Promise<void> {
	for (let after: string | undefined = ''; ; ) {
		after = await foldOnce(store, accountId, after);
		if (after === undefined) return;
		await delay(pauseMs);
	}
}

function foldOnce(store: Store, accountId: number, after: string): Promise<string | undefined> {
	return transactAgain(store, accountId, () => foldPiece(after));
}

export type FoldingReport =
	/** Profiles and tasks that wait, in all accounts that the process knows to have some. */
	| { readonly type: 'waiting'; readonly count: number }
	| { readonly type: 'trouble'; readonly account?: number; readonly reason: string };

export interface FoldingOptions {
	readonly report: (report: FoldingReport) => void;
	/** Ends it after the piece that is under way. */
	readonly signal: AbortSignal;
}

/** Does what waits in the accounts that it is told of, a piece of each in turn, and looks at all accounts now and then. */
export class Folder {
	readonly #store: Store;
	readonly #options: FoldingOptions;
	/** Accounts where something waits, and what the last piece was for. */
	readonly #places = new Map<number, string>();
	readonly #counts = new Map<number, number>();
	#wake = Promise.withResolvers<void>();

	constructor(store: Store, options: FoldingOptions) {
		this.#store = store;
		this.#options = options;
	}

	/** Something waits in an account. */
	wake(accountId: number): void {
		if (!this.#places.has(accountId)) this.#places.set(accountId, '');
		this.#wake.resolve();
	}

	/** Goes on until the signal. */
	async run(): Promise<void> {
		const { signal } = this.#options;
		signal.addEventListener('abort', () => this.#wake.resolve());
		let nextRoundAtMs = performance.now();
		while (!signal.aborted) {
			if (performance.now() >= nextRoundAtMs) {
				nextRoundAtMs = performance.now() + roundEveryMs;
				await this.#lookAtAll();
			}
			for (const [accountId, after] of [...this.#places])
				if (!signal.aborted) await this.#piece(accountId, after);
			if (this.#places.size === 0) await this.#sleep(nextRoundAtMs - performance.now());
		}
	}

	async #lookAtAll(): Promise<void> {
		try {
			for (const { id } of await this.#store.control.accounts()) {
				if (this.#options.signal.aborted) return;
				await this.#count(id);
			}
		} catch (error) {
			this.#options.report({ type: 'trouble', reason: reasonOf(error) });
		}
	}

	/** Counts what waits in an account, and notes it where there is some. */
	async #count(accountId: number): Promise<void> {
		try {
			const count = await this.#store.waiting(accountId);
			if (count > 0) this.wake(accountId);
			if (count === (this.#counts.get(accountId) ?? 0)) return;
			if (count > 0) this.#counts.set(accountId, count);
			else this.#counts.delete(accountId);
			const all = this.#counts.values().reduce((sum, one) => sum + one, 0);
			this.#options.report({ type: 'waiting', count: all });
		} catch (error) {
			this.#options.report({ type: 'trouble', account: accountId, reason: reasonOf(error) });
		}
	}

	async #piece(accountId: number, after: string): Promise<void> {
		const beganMs = performance.now();
		// Whoever wakes it from now on may have seen more than this piece does.
		this.#places.delete(accountId);
		try {
			const name = await foldOnce(this.#store, accountId, after);
			if (name !== undefined) this.#places.set(accountId, name);
			await this.#count(accountId);
		} catch (error) {
			this.#options.report({ type: 'trouble', account: accountId, reason: reasonOf(error) });
			await this.#pause(troublePauseMs);
			this.wake(accountId);
			return;
		}
		await this.#pause(Math.max(pauseMs, performance.now() - beganMs));
	}

	async #sleep(ms: number): Promise<void> {
		await Promise.race([this.#wake.promise, this.#pause(ms)]);
		this.#wake = Promise.withResolvers();
	}

	#pause(ms: number): Promise<void> {
		return delay(ms, undefined, { signal: this.#options.signal }).catch(() => {});
	}
}

export interface FoldingSettings {
	readonly database: string;
	readonly stage?: string;
}

/** What a serving process has of the thread. */
export interface Folding {
	/** Something waits in an account. */
	wake(accountId: number): void;
	/** Profiles and tasks that wait. */
	readonly waiting: number;
	/** Stops after the piece that is under way. */
	stop(): Promise<void>;
}

/** Starts a thread that does what waits, since a piece would hold up the answers of the serving thread. */
export function startFolding({ database, stage }: FoldingSettings, log: Log): Folding {
	let waiting = 0;
	const thread = new KeptThread<FoldingReport>({
		file: new URL('./folding-thread.ts', import.meta.url),
		workerData: { database, stage },
		onMessage: (report) => {
			if (report.type === 'waiting') waiting = report.count;
			else log.error({ account: report.account, reason: report.reason }, 'folding trouble');
		},
		onDeath: (error) => log.error({ reason: reasonOf(error) }, 'folding trouble, starting again'),
	});
	return {
		wake: (accountId) => thread.post(accountId),
		get waiting() {
			return waiting;
		},
		stop: () => thread.stop('stop'),
	};
}
