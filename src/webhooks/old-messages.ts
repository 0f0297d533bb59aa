import { setTimeout as delay } from 'node:timers/promises';
import { deletePage, pruneMessages, replayPage } from '../store/account/webhooks/outbox.ts';
import { pauseMs } from '../store/batch-sizer.ts';
import type { Store } from '../store/store.ts';
import { keepMessagesMs } from './retry.ts';

/** Queues all messages of a webhook since a time again, in short transactions. @returns their number */
export async function replayMessages(
	store: Store,
	accountId: number,
	webhook: string,
	sinceMs: number,
): Promise<number> {
	const nowMs = Math.floor(store.now());
	let total = 0;
	for (let after: number | undefined = 0; after !== undefined; ) {
		const from: number = after;
		const page = await store.transact(accountId, () => replayPage(webhook, { sinceMs, nowMs, after: from }));
		total += page.count;
		after = page.last;
		await delay(pauseMs);
	}
	return total;
}

/** Deletes all messages of a webhook, in short transactions. */
export async function deleteMessages(store: Store, accountId: number, webhook: string): Promise<void> {
	while ((await store.transact(accountId, () => deletePage(webhook))) > 0) await delay(pauseMs);
}

/** Deletes messages that are too old, in short transactions. */
export async function pruneOldMessages(store: Store, accountId: number, nowMs: number): Promise<void> {
	while ((await store.transact(accountId, () => pruneMessages(nowMs - keepMessagesMs))) > 0)
		await delay(pauseMs);
}
