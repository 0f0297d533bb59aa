import type { Account, AccountSettings } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { forgetAllDays } from '../../../kit/reading/kept-days.ts';

/** Writes what somebody did into the audit log. */
export type Note = (action: string, about?: string) => Promise<unknown>;

/**
 * Changes the settings of an account, and has the audit log say which: for commands and the console alike.
 * @param changes settings that are left out keep their value
 * @throws OperatorError where there is no such account
 */
export async function changeAccount(
	store: Pick<Store, 'control' | 'transact'>,
	aid: string,
	changes: Partial<AccountSettings>,
	note: Note,
): Promise<Account> {
	const { control } = store;
	const before = await control.account(aid);
	const account = await control.updateAccount(aid, changes);
	const changed = (Object.keys(changes) as (keyof AccountSettings)[]).filter(
		(name) => JSON.stringify(account[name]) !== JSON.stringify(before[name]),
	);
	// What is kept of them tells cancellations from other events.
	if (changed.includes('cancellationEvt')) await store.transact(account.id, forgetAllDays);
	await note('account updated', changed.length > 0 ? changed.join(', ') : undefined);
	return account;
}
