import { setTimeout as delay } from 'node:timers/promises';
import { foldPiece } from './account/folding.ts';
import { pauseMs } from './batch-sizer.ts';
import type { Store } from './store.ts';
import { transactWithRetry } from './transact-with-retry.ts';

/** Does all that waits in one account, and leaves its database to those who serve in between. */
export async function foldAll(store: Store, accountId: number): Promise<void> {
	for (let after: string | undefined = ''; ; ) {
		after = await foldOnce(store, accountId, after);
		if (after === undefined) return;
		await delay(pauseMs);
	}
}

/** Does a piece. @param after what the last piece was for; undefined is given where nothing waits */
export function foldOnce(store: Store, accountId: number, after: string): Promise<string | undefined> {
	return transactWithRetry(store, accountId, () => foldPiece(after));
}
