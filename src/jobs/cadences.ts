import { isDeepStrictEqual } from 'node:util';
import { emptyCadenceTable } from '../domain/subscription-cadence.ts';
import { learnedCadences } from '../store/account/reading/payments.ts';
import type { Store } from '../store/store.ts';

/** Learns how often an account's subscriptions are paid, and tells the servers. @returns whether anything is new */
export async function learnCadences(store: Store, accountId: number, nowMs: number): Promise<boolean> {
	const table = await store.read(accountId, learnedCadences(nowMs));
	const before = await store.control.cadences(accountId);
	if (isDeepStrictEqual(table, before ?? emptyCadenceTable)) return false;
	await store.control.setCadences(accountId, table);
	return true;
}
