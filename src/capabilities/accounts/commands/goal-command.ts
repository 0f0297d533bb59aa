import { nounCommand } from '../../../kit/cli/act-command.ts';
import * as goals from '../acts/goal-acts.ts';

export const goalCommand = nounCommand(
	'goal',
	'create, update, list, delete goals',
	`Manage goals: what visitors may do, and scores predict. Every account starts with 'subscription' and
'return' (another visit), both within 7 days, and 'renewal': that the next renewal of a subscription comes in time.

Which uploaded events reach a goal, by --counts:
  acquisition    a visitor's first event of a subscription ('subid'); the default
  trial          the same, if it is free
  first-payment  the first event of a subscription with an 'rvn' above zero
  refund         an event with a negative 'rvn'
  renewal        any later event of a subscription, except refunds; scored for current subscribers, and --horizon-days does not apply
  any            all of these, and cancellations`,
	goals,
);
