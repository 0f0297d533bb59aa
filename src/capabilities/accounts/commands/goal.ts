import { actCommand } from '../../../kit/cli/act-command.ts';
import { command, group } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { createGoal, deleteGoal, updateGoal } from '../acts/goals.ts';

const list = command('list', "list an account's goals").onAccount(async (store, { aid, id }, options) => {
	const goals = await store.control.goals(id);
	print(options, goals, `No goals. 'caskade goal create ${aid} NAME --evt E' creates one.`);
});

export const goalCommand = group(
	'goal',
	'create, update, list, delete goals',
	`Manage goals: actions of visitors whose probability is scored. Every account starts with 'subscription' and
'return' (another visit), both within 7 days, and 'renewal': that the next renewal of a subscription comes in time.

Of upload events, an acquisition is a visitor's first event of a subscription ('subid'), and a trial if that is free; a
first-payment is the first above nothing, a refund has a negative 'rvn', and a renewal is any other. A goal counts
acquisitions unless it names others, or any of them, with --counts. A goal of
renewals is scored for who subscribes now, whatever its --horizon-days.`,
	[actCommand(createGoal), actCommand(updateGoal), list, actCommand(deleteGoal)],
);
