import { assumedRenewalsOf } from '../reports/courses.ts';
import { learnedCadences } from '../store/account/reading/payments.ts';
import type { Account } from '../store/control/accounts.ts';
import type { Check } from '../store/maintenance.ts';
import type { Store } from '../store/store.ts';

/** How often that is taken to be paid which nobody of an account has renewed yet. Null if there is nothing like that. */
export async function assumedRenewals(store: Store, account: Account): Promise<string | null> {
	const learned = await store.read(account.id, learnedCadences(store.now(), account.cancellationEvt));
	return assumedRenewalsOf(account, learned);
}

/** Tells of event types that nobody has renewed yet how often reports take them to be paid. */
export async function* checkRenewals(
	store: Store,
	isReadable: (aid: string) => boolean,
): AsyncIterable<Check> {
	for (const account of await store.control.accounts()) {
		if (!isReadable(account.aid)) continue;
		const detail = await assumedRenewals(store, account);
		if (detail !== null) yield { check: `renewals of ${account.aid}`, ok: true, detail };
	}
}
