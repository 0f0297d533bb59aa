import { setTimeout as delay } from 'node:timers/promises';
import {
	findLookedTo,
	saveLookedTo,
	saveShared,
	sharedByEvents,
	sharedByVisitors,
} from '../../../core/store/account/owners/shared-keys.ts';
import { pauseMs } from '../../../core/store/batch-sizer.ts';
import type { Store } from '../../../core/store/store.ts';

/** Keys that are looked at once in a round, as far as memory is to be spent on it. */
const maxKnown = 20_000;

/**
 * Finds the keys that too many subscriptions or customers share, among the events that arrived since the last time. Those that
 * too many visitors share are found where hits arrive.
 */
export async function findSharedKeys(
	store: Store,
	accountId: number,
	signal?: AbortSignal | undefined,
): Promise<void> {
	const from = await store.read(accountId, findLookedTo());
	let lookedTo = from;
	const known = new Set<string>();
	for (let isEnd = false; !isEnd && !signal?.aborted; ) {
		const page = await store.read(accountId, sharedByEvents(lookedTo, known));
		if (known.size > maxKnown) known.clear();
		for (const key of page.lookedAt) known.add(key);
		const { keys, lastId = lookedTo } = page;
		({ isEnd } = page);
		if (lastId === lookedTo) break;
		lookedTo = lastId;
		if (keys.length > 0) await store.transact(accountId, () => saveShared(keys));
		if (isEnd) break;
		await store.transact(accountId, () => saveLookedTo(lastId));
		await delay(pauseMs);
	}
	if (lookedTo > from) await store.transact(accountId, () => saveLookedTo(lookedTo));
}

/** Finds shared keys among all events and visitors, from the beginning. */
export async function findAllSharedKeys(store: Store, accountId: number): Promise<void> {
	const keys = await store.read(accountId, sharedByVisitors());
	if (keys.length > 0) await store.transact(accountId, () => saveShared(keys));
	await store.transact(accountId, () => saveLookedTo(0));
	await findSharedKeys(store, accountId);
}
