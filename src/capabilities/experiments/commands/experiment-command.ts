import { leftOutText } from '../../../core/domain/mail-gateways.ts';
import { counted, formatNumber, formatShare } from '../../../core/format/numbers.ts';
import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command, includeOption } from '../../../kit/cli/command.ts';
import { print, printLine, printTable } from '../../../kit/cli/output.ts';
import { reportedAccount } from '../../../kit/reports/report-query.ts';
import * as acts from '../acts.ts';
import { chosenGoal } from '../acts.ts';
import { type ExperimentPlan, planExperiment } from '../reports/experiment-plan.ts';

const segmentOption = ['--segment <id>', 'the segment to measure'] as const;
const goalOption = [
	'--goal <name>',
	'the goal that visitors should reach (default: subscription, else the first)',
] as const;

const plan = command('plan', 'how long an experiment would take')
	.description(
		`Estimate from the account's last weeks how many visitors would enter an experiment, and how many weeks it must run for a
lift to be found in four of five experiments: a lift of 5, 10 or 20 % of the rate, with 5, 10, 20 or 50 % held out.`,
	)
	.required(...segmentOption)
	.option(...goalOption)
	.option(...includeOption)
	.onAccount(async (store, account, options) => {
		const { segment, include = null } = options;
		const { rule } = await store.control.segment(account.id, segment);
		const goal = await chosenGoal(store.control, account.id, options.goal);
		const planned = await planExperiment(
			store,
			reportedAccount(account),
			{ rule, goal, include },
			store.now(),
		);
		print(options, { segment, ...planned }, () => printPlan(planned));
	});

export const experimentCommand = nounCommand(
	'experiment',
	'measure what serving a segment brings, with a control group',
	`Measure what serving a segment brings. While an experiment runs, a share of the visitors is held out: pages and webhooks do
not see the segment for them. 'caskade report lift AID NAME' compares the groups.

docs/how-to/experiments.md says what that changes, and for whom.`,
	acts,
	[plan],
);

function printPlan({ goal, plans, gatewayVisitors = 0, ...history }: ExperimentPlan): void {
	const { weeksOfHistory, enteredInFirstWeek, entersAWeek, conversionRate, varianceReduction } = history;
	printLine(
		`Over the last ${counted(weeksOfHistory, 'week')}, entries would have gone from ${counted(enteredInFirstWeek, 'visitor')} in the first week to ${formatNumber(entersAWeek)} a week by the end. ${formatShare(conversionRate)} of them reached ${goal}${varianceReduction > 0 ? `; the score at entry explains ${formatShare(varianceReduction)} of the variance` : ''}.`,
	);
	if (gatewayVisitors > 0)
		printLine(`${leftOutText(gatewayVisitors)} To count them, add --include gateways.`);
	printLine('');
	printTable(
		plans.map((plan) => ({
			'held out': `${plan.holdoutPercent} %`,
			lift: `${(100 * plan.lift).toFixed(2)} points`,
			'of the rate': `${plan.relativeLiftPercent} %`,
			visitors: plan.visitors,
			weeks: plan.weeks ?? 'years',
			'visitors, any look': plan.visitorsAtEveryLook,
			'weeks, any look': plan.weeksAtEveryLook ?? 'years',
		})),
		'',
	);
	printLine('');
	printLine(
		"With this many visitors, four of five experiments with this lift show it: the interval excludes 0. 'visitors' and 'weeks' assume one look, planned ahead; 'any look', as many looks as you like.",
	);
}
