import { byAccount } from '../../core/store/control/snapshot.ts';
import type { Capability } from '../../kit/capability-declaration.ts';
import { type ActiveWebhook, wants } from './domain/webhook.ts';
import { selectWebhooks, toActiveWebhook, webhookStore } from './store/webhook-store.ts';

declare module '../../core/capability.ts' {
	interface ControlMembers extends ReturnType<typeof webhookStore> {}

	interface AccountMembers {
		/** Those that are not disabled. */
		readonly webhooks: readonly ActiveWebhook[];
	}
}

/** Receivers of changes of an account's visitors. */
export const webhooks: Capability = {
	name: 'webhooks',
	nouns: {
		members: webhookStore,
		tables: [{ name: 'webhook', isCopied: true, account: 'account_id' }],
	},
	*snapshot() {
		const rows = byAccount(yield* selectWebhooks({ disabled_at: null }));
		return {
			ofAccount(accountId) {
				const active = rows(accountId).map(toActiveWebhook);
				return {
					webhooks: active,
					isFollowed: active.length > 0,
					keepsConflicts: active.some((webhook) => wants(webhook, 'subscription.conflict')),
				};
			},
		};
	},
	commands: {
		webhook: async () => (await import('./commands/webhook-command.ts')).webhookCommand,
	},
	acts: {
		webhook: {
			verbs: ['create', 'update', 'test', 'rotate', 'replay', 'disable', 'enable', 'delete'],
			isListed: true,
			load: () => import('./acts.ts'),
		},
	},
	serving: async (server) => (await import('./webhook-serving.ts')).announceChanges(server),
	async pages() {
		const { webhooksPage } = await import('./pages/webhooks-page.ts');
		const { failingWebhooks } = await import('./pages/webhook-attention.ts');
		return { pages: [webhooksPage], attention: failingWebhooks };
	},
	jobs: {
		background: async (at) => (await import('./jobs/webhook-background.ts')).tellReceivers(at),
	},
};
