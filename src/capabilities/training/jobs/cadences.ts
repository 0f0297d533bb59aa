import { isDeepStrictEqual } from 'node:util';
import { emptyCadenceTable } from '../../../core/domain/subscription-cadence.ts';
import type { Account } from '../../../core/store/control/account-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { learnedCadences } from '../../../kit/reading/payments.ts';

/** Learns how often an account's subscriptions are paid, and tells the servers. @returns whether anything is new */
export async function learnCadences(
	store: Store,
	{ id, cancellationEvt }: Pick<Account, 'id' | 'cancellationEvt'>,
	nowMs: number,
): Promise<boolean> {
	const table = await store.read(id, learnedCadences(nowMs, cancellationEvt));
	const before = await store.control.cadences(id);
	if (isDeepStrictEqual(table, before ?? emptyCadenceTable)) return false;
	await store.control.setCadences(id, table);
	return true;
}
