import type { Capability } from '../../kit/capability-declaration.ts';

/** What clients are told of what they have uploaded, and of their limits. */
export const receipts: Capability = {
	name: 'receipts',
	serving: ({ roles, store, ...server }) =>
		roles.includes('api')
			? {
					async operations(app, guard) {
						const { severalReceipts } = await import('./operations/receipts.ts');
						const { oneReceipt } = await import('./operations/receipt.ts');
						const { usage } = await import('./operations/usage.ts');
						severalReceipts(app, { ...guard, ...server });
						oneReceipt(app, { ...guard, ...server });
						usage(app, { ...guard, ...server, usageOf: store.control.usageOf });
					},
				}
			: {},
};
