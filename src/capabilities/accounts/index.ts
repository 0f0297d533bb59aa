import type { Capability } from '../../kit/capability-declaration.ts';

/** Accounts, clients, keys, plans, casks, goals, segments and their settings. */
export const accounts: Capability = {
	name: 'accounts',
	commands: {
		account: async () => (await import('./commands/account-command.ts')).accountCommand,
		client: async () => (await import('./commands/client-command.ts')).clientCommand,
		plan: async () => (await import('./commands/plan-command.ts')).planCommand,
		key: async () => (await import('./commands/key-command.ts')).keyCommand,
		usage: async () => (await import('./commands/usage-command.ts')).usageCommand,
		goal: async () => (await import('./commands/goal-command.ts')).goalCommand,
		cask: async () => (await import('./commands/cask-command.ts')).caskCommand,
		segment: async () => (await import('./commands/segment-command.ts')).segmentCommand,
	},
	acts: {
		account: {
			verbs: ['update', 'show-identity-secret', 'rotate-identity-secret'],
			isListed: true,
			load: () => import('./acts/account-acts.ts'),
		},
		goal: {
			verbs: ['create', 'update', 'delete'],
			isListed: true,
			load: () => import('./acts/goal-acts.ts'),
		},
		segment: {
			verbs: ['create', 'update', 'delete'],
			isListed: true,
			load: () => import('./acts/segment-acts.ts'),
		},
	},
	async pages() {
		const { segmentsPage } = await import('./pages/segments-page.ts');
		const { tagPage } = await import('./pages/tag-page.ts');
		const { settingsPage } = await import('./pages/settings.ts');
		const { accountsPage } = await import('./pages/accounts-page.ts');
		return { pages: [segmentsPage, tagPage, settingsPage, accountsPage] };
	},
};
