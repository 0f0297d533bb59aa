import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import type { Account } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';

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

/** Accounts that are enabled, and whose clients are. */
export async function accountsInUse({ control }: Store): Promise<Account[]> {
	const disabled = new Set(
		(await control.clients()).flatMap(({ client, disabledAt }) => (disabledAt === null ? [] : [client])),
	);
	return (await control.accounts()).filter(
		({ client, disabledAt }) => disabledAt === null && !disabled.has(client),
	);
}

/** Does a round at once, and again and again, until the signal is aborted. @param round resolves to the pause after it */
export async function repeatedly(signal: AbortSignal, round: () => Promise<number>): Promise<void> {
	while (!signal.aborted) await pause(await round(), signal);
}

/** Ends early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
	return delay(ms, undefined, { signal }).catch(() => {});
}
