import type { standardPlan } from '../../core/domain/usage-plan.ts';
import type { Html } from '../format/html.ts';
import { pageTable } from './page-table.ts';

/** The limits of usage plans. */
export function planTable(plans: readonly (typeof standardPlan)[]): Html {
	return pageTable('Usage plans', plans, {
		Plan: ({ name }) => name,
		'#Requests per second': ({ ratePerSecond }) => ratePerSecond,
		'#Burst': ({ burst }) => burst,
		'#Requests per month': ({ quotaPerMonth }) => quotaPerMonth,
		'#Time limit, ms': ({ timeoutMs }) => timeoutMs,
		'#Events per request': ({ maxEvents }) => maxEvents,
	});
}
