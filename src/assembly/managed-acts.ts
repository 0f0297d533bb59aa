import type { ManagedActs } from '../kit/operations/manage.ts';

/** Which acts `POST /manage/NOUN/VERB` does: those about an account that an operator of it may do. */
export const managedActs: ManagedActs = {
	account: {
		verbs: ['update', 'show-identity-secret', 'rotate-identity-secret'],
		load: () => import('../capabilities/accounts/acts/accounts.ts'),
	},
	goal: {
		verbs: ['create', 'update', 'delete'],
		load: () => import('../capabilities/accounts/acts/goals.ts'),
	},
	segment: {
		verbs: ['create', 'update', 'delete'],
		load: () => import('../capabilities/accounts/acts/segments.ts'),
	},
	experiment: {
		verbs: ['create', 'stop'],
		load: () => import('../capabilities/experiments/acts.ts'),
	},
	webhook: {
		verbs: ['create', 'update', 'test', 'rotate', 'replay', 'disable', 'enable', 'delete'],
		load: () => import('../capabilities/webhooks/acts.ts'),
	},
	note: { verbs: ['add', 'remove'], load: () => import('../capabilities/people/acts.ts') },
	model: { verbs: ['use'], load: () => import('../capabilities/training/acts.ts') },
	visitor: {
		verbs: ['erase', 'erase-customer', 'rebuild'],
		load: () => import('../capabilities/visitors/acts.ts'),
	},
};
