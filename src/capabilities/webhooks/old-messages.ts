import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../core/errors.ts';
import { pauseMs } from '../../core/store/batch-sizer.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import type { Store } from '../../core/store/store.ts';
import { keepMessagesMs } from './retry.ts';
import { deletePage, pruneMessages, replayPage } from './store/outbox.ts';

/**
 * Queues all messages of a webhook since a time again, in short transactions. Servers are to be told.
 * @returns their number
 * @throws OperatorError where there is no such webhook, or it is disabled
 */
export async function replayMessages(
	store: Store,
	{ id: accountId, aid }: Pick<Account, 'id' | 'aid'>,
	webhook: string,
	sinceMs: number,
): Promise<number> {
	const { disabledAt } = await store.control.webhook(accountId, webhook);
	if (disabledAt !== null)
		throw new OperatorError(
			`Webhook ${webhook} is disabled; enable it first with 'caskade webhook enable ${aid} ${webhook}'.`,
		);
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
