import type { Capability } from '../../core/capability.ts';
import { type AccessSnapshot, byAccount, type KnownAccount } from '../../core/store/control/snapshot.ts';
import { type ActiveWebhook, wants } from './domain/webhook.ts';
import { selectWebhooks, toActiveWebhook, webhookStore } from './store/webhooks.ts';

declare module '../../core/capability.ts' {
	interface ControlMembers extends ReturnType<typeof webhookStore> {}

	interface AccountMembers {
		/** Those that are not disabled. */
		readonly webhooks: readonly ActiveWebhook[];
	}
}

/** Receivers of changes of an account's visitors. */
export const webhooks: Capability = {
	nouns: {
		members: webhookStore,
		tables: [{ name: 'webhook', isCopied: true, account: 'account_id' }],
	},
	*ofAccounts() {
		const rows = byAccount(yield* selectWebhooks({ disabled_at: null }));
		return (accountId) => {
			const active = rows(accountId).map(toActiveWebhook);
			return {
				webhooks: active,
				isFollowed: active.length > 0,
				keepsConflicts: active.some((webhook) => wants(webhook, 'subscription.conflict')),
			};
		};
	},
};

/** Those that are not disabled and have webhooks that are not. */
export function accountsWithWebhooks({ accounts }: Pick<AccessSnapshot, 'accounts'>): KnownAccount[] {
	return [...accounts.values()].filter(({ webhooks }) => webhooks.length > 0);
}

/** How many webhooks have failed for more than a minute. */
export function countFailing(snapshot: Pick<AccessSnapshot, 'accounts'>): number {
	return accountsWithWebhooks(snapshot)
		.flatMap(({ webhooks }) => webhooks)
		.filter(({ failingSinceMs }) => failingSinceMs !== null).length;
}
