import type { Capability } from '../../kit/capability.ts';

/** Accounts, clients, keys, plans, casks, goals, segments and their settings. */
export const accounts: Capability = {
	name: 'accounts',
	commands: {
		account: async () => (await import('./commands/account.ts')).accountCommand,
		client: async () => (await import('./commands/client.ts')).clientCommand,
		plan: async () => (await import('./commands/plan.ts')).planCommand,
		key: async () => (await import('./commands/key.ts')).keyCommand,
		usage: async () => (await import('./commands/usage.ts')).usageCommand,
		goal: async () => (await import('./commands/goal.ts')).goalCommand,
		cask: async () => (await import('./commands/cask.ts')).caskCommand,
		segment: async () => (await import('./commands/segment.ts')).segmentCommand,
	},
	acts: {
		account: {
			verbs: ['update', 'show-identity-secret', 'rotate-identity-secret'],
			isListed: true,
			load: () => import('./acts/accounts.ts'),
		},
		goal: { verbs: ['create', 'update', 'delete'], isListed: true, load: () => import('./acts/goals.ts') },
		segment: {
			verbs: ['create', 'update', 'delete'],
			isListed: true,
			load: () => import('./acts/segments.ts'),
		},
	},
	async pages() {
		const { segmentsPage } = await import('./pages/segments.ts');
		const { tagPage } = await import('./pages/tag.ts');
		const { settingsPage } = await import('./pages/settings.ts');
		const { accountsPage } = await import('./pages/accounts.ts');
		return { pages: [segmentsPage, tagPage, settingsPage, accountsPage] };
	},
};
