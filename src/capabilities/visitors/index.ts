import type { Capability } from '../../kit/capability-declaration.ts';

/** A visitor's life, timelines, corrections, erasure. */
export const visitors: Capability = {
	name: 'visitors',
	commands: {
		visitor: async () => (await import('./commands/visitor-command.ts')).visitorCommand,
		subscription: async () => (await import('./commands/subscription-command.ts')).subscriptionCommand,
	},
	acts: {
		visitor: { verbs: ['erase', 'erase-customer', 'rebuild'], load: () => import('./acts.ts') },
	},
	async pages() {
		const { visitorsPage } = await import('./pages/visitors-page.ts');
		const { eraseVisitorPage, visitorFilePage, visitorPage } = await import('./pages/visitor-page.ts');
		const { customerPage, eraseCustomerPage } = await import('./pages/customer.ts');
		const { eventFilePage, eventPage } = await import('./pages/event.ts');
		const ofVisitors = [visitorsPage, visitorPage, eraseVisitorPage, visitorFilePage];
		return { pages: [...ofVisitors, customerPage, eraseCustomerPage, eventPage, eventFilePage] };
	},
	jobs: {
		background: async (at) => (await import('./jobs/visitor-background.ts')).followErasures(at),
		compute: { members: async () => (await import('./visitor-lists.ts')).membersJob },
	},
};
