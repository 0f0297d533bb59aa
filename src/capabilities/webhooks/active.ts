import type { AccessSnapshot, KnownAccount } from '../../core/store/control/snapshot.ts';

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
