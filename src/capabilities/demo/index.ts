import type { Capability } from '../../kit/capability-declaration.ts';

/** The made-up history of the demo shop. */
export const demo: Capability = {
	name: 'demo',
	commands: {
		demo: async () => (await import('./commands/demo-command.ts')).demoCommand,
	},
	serving: (server) =>
		server.isDemo
			? {
					operations: async (app) => (await import('./operations/demo.ts')).demoShop(app),
					offer: async (listening) => (await import('./offer.ts')).offerDemo(server, listening),
				}
			: {},
};
