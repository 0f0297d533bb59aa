import { setTimeout as delay } from 'node:timers/promises';
import { foldPiece } from '../store/folding.ts';
import type { Store } from '../store/store.ts';
import { transactAgain } from '../store/transact-again.ts';
import { pauseMs } from './pace.ts';

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
	return transactAgain(store, accountId, () => foldPiece(after));
}
