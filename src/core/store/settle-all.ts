import { BatchSizer } from './batch-sizer.ts';
import { rowsOf, type Steps } from './steps.ts';
import type { Store } from './store.ts';

/** Hits per transaction, besides the others of their visitors. */
const hitsPerTransaction = { initial: 100, max: 5000 };

/** Moves all hits that an engine keeps apart to the others, in short transactions. */
export async function settleAll(store: Store, accountId: number): Promise<void> {
	const batch = new BatchSizer(hitsPerTransaction);
	for (let settled = 1; settled > 0; )
		settled = await batch.run(
			() => store.transact(accountId, () => settleOldest(batch.size)),
			(hits) => hits,
		);
}

function* settleOldest(max: number): Steps<number> {
	const settled = yield* rowsOf([{ settle: { beforeMs: Number.MAX_SAFE_INTEGER, max } }]);
	return settled.length;
}
