import { nounCommand } from '../../../kit/cli/act-command.ts';
import * as goals from '../acts/goal-acts.ts';

export const goalCommand = nounCommand(
	'goal',
	'create, update, list, delete goals',
	`Manage goals: what visitors may do, and scores predict. Every account starts with 'subscription' and
'return' (another visit), both within 7 days, and 'renewal': that the next renewal of a subscription comes in time.

Of upload events, an acquisition is a visitor's first event of a subscription ('subid'), and a trial if that is free; a
first-payment is the first above zero, a refund has a negative 'rvn', and a renewal is any other. A goal counts
acquisitions unless it names others, or any of them, with --counts. A goal of
renewals is scored for current subscribers, whatever its --horizon-days.`,
	goals,
);
