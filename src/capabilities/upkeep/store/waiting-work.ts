import type { Maintenance } from '../../../core/store/maintenance.ts';
import type { Store } from '../../../core/store/store.ts';
import { countMessages } from '../../webhooks/store/outbox.ts';

export interface WaitingWork {
	readonly accounts: number;
	readonly accountsFailing: number;
	readonly foldingWaiting: number;
	readonly messagesWaiting: number;
	readonly webhooksFailing: number;
}

/** Background work of all accounts: profiles to fold, messages to deliver. */
export async function waitingIn(store: Store & Maintenance): Promise<WaitingWork> {
	const { accounts } = await store.control.accessSnapshot();
	let foldingWaiting = 0;
	let messagesWaiting = 0;
	let webhooksFailing = 0;
	let accountsFailing = 0;
	for (const { id, webhooks } of accounts.values()) {
		webhooksFailing += webhooks.filter(({ failingSinceMs }) => failingSinceMs !== null).length;
		try {
			foldingWaiting += await store.waiting(id);
			if (webhooks.length > 0) messagesWaiting += await store.read(id, countMessages());
		} catch {
			accountsFailing++;
		}
	}
	return { accounts: accounts.size, accountsFailing, foldingWaiting, messagesWaiting, webhooksFailing };
}
