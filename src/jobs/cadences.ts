import { isDeepStrictEqual } from 'node:util';
import { emptyCadenceTable, LearnedCadences } from '../domain/subscription-cadence.ts';
import { sampledPayments } from '../store/account/reading/payments.ts';
import type { Store } from '../store/store.ts';

/** Learns how often an account's subscriptions are paid, and tells the servers. @returns whether anything is new */
export async function learnCadences(store: Store, accountId: number, nowMs: number): Promise<boolean> {
	const table = new LearnedCadences(await store.read(accountId, sampledPayments(nowMs)), nowMs).table();
	const before = await store.control.cadences(accountId);
	if (isDeepStrictEqual(table, before ?? emptyCadenceTable)) return false;
	await store.control.setCadences(accountId, table);
	return true;
}
