import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../core/errors.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import type { Store } from '../../core/store/store.ts';
import { firstMomentMs } from '../reading/journey-rows.ts';

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
	accounts: Promise<readonly Account[]>,
	{ signal, fail }: { readonly signal: AbortSignal; readonly fail: (failure: RoundFailure) => void },
	fn: (account: Account) => Promise<void>,
): Promise<void> {
	try {
		for (const account of await accounts) {
			if (signal.aborted) return;
			try {
				await fn(account);
			} catch (error) {
				if (await store.control.isAccountInUse(account.id))
					fail({ aid: account.aid, reason: reasonOf(error) });
			}
		}
	} catch (error) {
		fail({ reason: reasonOf(error) });
	}
}

/** The accounts of each store as of a revision of its control database: rounds are frequent, and accounts may be thousands. */
const known = new WeakMap<Store, { readonly revision: number; readonly inUse: readonly Account[] }>();

/** Accounts that are enabled, and whose clients are. */
export async function accountsInUse(store: Store): Promise<readonly Account[]> {
	const { control } = store;
	const revision = await control.revision();
	const last = known.get(store);
	if (last?.revision === revision) return last.inUse;
	const disabled = new Set(
		(await control.clients()).flatMap(({ client, disabledAt }) => (disabledAt === null ? [] : [client])),
	);
	const inUse = (await control.accounts()).filter(
		({ client, disabledAt }) => disabledAt === null && !disabled.has(client),
	);
	known.set(store, { revision, inUse });
	return inUse;
}

/** Whether anything was ever stored of an account, or is still. Of most of thousands, nothing is. */
export async function hasHistory(store: Store, accountId: number): Promise<boolean> {
	const firstMs = await store.read(accountId, firstMomentMs());
	return Number.isFinite(firstMs);
}

/** Does a round at once, and again and again, until the signal is aborted. @param round resolves to the pause after it */
export async function repeatedly(signal: AbortSignal, round: () => Promise<number>): Promise<void> {
	while (!signal.aborted) await pause(await round(), signal);
}

/** Ends early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
	return delay(ms, undefined, { signal }).catch(() => {});
}
