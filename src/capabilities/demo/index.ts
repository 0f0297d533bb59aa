import type { Capability } from '../../kit/capability.ts';

/** The made-up history of the demo shop. */
export const demo: Capability = {
	name: 'demo',
	commands: {
		demo: async () => (await import('./commands/demo.ts')).demoCommand,
	},
	serving: (server) =>
		server.isDemo
			? {
					operations: async (app) => (await import('./operations/demo.ts')).demoShop(app),
					offer: async (listening) => (await import('./offer.ts')).offerDemo(server, listening),
				}
			: {},
};
