import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../core/errors.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import { changedMarks } from '../../core/store/news.ts';
import type { Store } from '../../core/store/store.ts';
import { firstMomentMs } from '../reading/hit-rows.ts';

/** What went wrong in a round, with one account or with all. */
export interface RoundFailure {
	readonly aid?: string;
	readonly reason: string;
}

/**
 * Does something with one account after another, until the signal is aborted. A failure does not keep it from the others;
 * that of an account that is being deleted is none.
 */
export async function forEachAccount(
	store: Store,
	accountIds: Promise<readonly number[]>,
	{ signal, fail }: { readonly signal: AbortSignal; readonly fail: (failure: RoundFailure) => void },
	fn: (accountId: number) => Promise<void>,
): Promise<void> {
	try {
		for (const id of await accountIds) {
			if (signal.aborted) return;
			try {
				await fn(id);
			} catch (error) {
				const account = await store.control.accountNumbered(id);
				if (account?.disabledAt === null) fail({ aid: account.aid, reason: reasonOf(error) });
			}
		}
	} catch (error) {
		fail({ reason: reasonOf(error) });
	}
}

/** The accounts of each store as of a revision of its control database: rounds are frequent, and accounts may be thousands. All jobs share a list, also while it is read. */
const known = new WeakMap<Store, { readonly revision: number; readonly inUse: Promise<readonly number[]> }>();

/** Numbers of accounts that are enabled, and whose clients are. */
export async function accountsInUse(store: Store): Promise<readonly number[]> {
	const revision = await store.control.revision();
	let last = known.get(store);
	if (last?.revision !== revision) {
		last = { revision, inUse: store.control.accountIds('in use') };
		known.set(store, last);
		last.inUse.catch(() => known.delete(store));
	}
	return last.inUse;
}

/** The marks of accounts of which nothing was stored, by store: all jobs look once. */
const emptyAt = new WeakMap<Store, Map<number, string>>();

/** Which accounts have a history. Of most of thousands, nothing was ever stored, and to look costs more than all else that they do. */
export class Histories {
	readonly #store: Store;
	readonly #emptyAt: Map<number, string>;
	/** Of those that `among` has named, until `has` was asked. */
	#marks: Map<number, string | undefined> = new Map();

	constructor(store: Store) {
		this.#store = store;
		this.#emptyAt = emptyAt.get(store) ?? new Map();
		emptyAt.set(store, this.#emptyAt);
	}

	/** Those of some accounts that are not known to have none. */
	async among(accountIds: readonly number[]): Promise<readonly number[]> {
		if (accountIds.length === 0) return [];
		// Of before the look: what is stored meanwhile has another mark.
		this.#marks = await changedMarks(this.#store, accountIds, this.#emptyAt);
		return [...this.#marks.keys()];
	}

	/** Whether anything was ever stored of an account that `among` has named, or is still. */
	async has(accountId: number): Promise<boolean> {
		const mark = this.#marks.get(accountId);
		this.#marks.delete(accountId);
		// Another job may have looked since.
		if (mark !== undefined && this.#emptyAt.get(accountId) === mark) return false;
		if (Number.isFinite(await this.#store.read(accountId, firstMomentMs()))) return true;
		if (mark !== undefined) this.#emptyAt.set(accountId, mark);
		return false;
	}

	/** An account of which anything was ever stored; undefined where nothing was, or it was deleted. */
	async accountOf(accountId: number): Promise<Account | undefined> {
		return (await this.has(accountId)) ? this.#store.control.accountNumbered(accountId) : undefined;
	}
}

/** Does a round at once, and again and again, until the signal is aborted. @param round resolves to the pause after it */
export async function repeatedly(signal: AbortSignal, round: () => Promise<number>): Promise<void> {
	while (!signal.aborted) await pause(await round(), signal);
}

/** Ends early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
	return delay(ms, undefined, { signal }).catch(() => {});
}
