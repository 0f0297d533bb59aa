import { reasonOf } from '../errors.ts';
import type { Account } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';

/** What went wrong in a round, with one account or with all. */
export interface RoundError {
	readonly type: 'error';
	readonly aid?: string;
	readonly reason: string;
}

/**
 * Does something with one account after another, until the signal is aborted. Errors are reported, and do not keep it from
 * the others; those of an account that is being deleted are none.
 */
export async function forEachAccount(
	store: Store,
	accounts: Promise<readonly Account[]>,
	{ report, signal }: { readonly report: (error: RoundError) => void; readonly signal: AbortSignal },
	fn: (account: Account) => Promise<void>,
): Promise<void> {
	try {
		for (const account of await accounts) {
			if (signal.aborted) return;
			try {
				await fn(account);
			} catch (error) {
				if (await store.control.isAccountInUse(account.id))
					report({ type: 'error', aid: account.aid, reason: reasonOf(error) });
			}
		}
	} catch (error) {
		report({ type: 'error', reason: reasonOf(error) });
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
