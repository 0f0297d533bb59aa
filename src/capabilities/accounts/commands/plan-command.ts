import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import * as plans from '../acts/plan-acts.ts';

const list = command('list', 'list plans').onStore(async (store, options) =>
	print(options, await store.control.plans(), 'No plans.'),
);

export const planCommand = nounCommand(
	'plan',
	'create, update, list, delete usage plans',
	`Manage usage plans, which hold the limits of keys. 'standard' always exists: 10 requests per second, burst 1,
1,000,000 requests per month, 5 s and 30 events per request.`,
	plans,
	[list],
);
