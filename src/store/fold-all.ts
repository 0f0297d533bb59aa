import { setTimeout as delay } from 'node:timers/promises';
import { foldPiece } from './account/folding.ts';
import { pauseMs } from './batch-sizer.ts';
import type { Store } from './store.ts';

/** Does all background work of an account, and leaves its database to the serving processes in between. */
export async function foldAll(store: Store, accountId: number): Promise<void> {
	for (let after: string | undefined = ''; ; ) {
		after = await foldOnce(store, accountId, after);
		if (after === undefined) return;
		await delay(pauseMs);
	}
}

/**
 * Does one batch.
 * @param after the cursor of the last batch
 * @returns the new cursor; undefined when nothing waits
 */
export function foldOnce(store: Store, accountId: number, after: string): Promise<string | undefined> {
	return store.transact(accountId, () => foldPiece(after));
}
