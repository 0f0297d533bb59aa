import { Argument, Option } from 'commander';
import { positiveNumber, refusing } from '../config.ts';
import { type Experiment, stateOf } from '../domain/experiment.ts';
import type { Goal } from '../domain/goal.ts';
import { OperatorError } from '../errors.ts';
import { isoTime } from '../format/iso-time.ts';
import { counted, formatNumber, formatShare } from '../format/numbers.ts';
import { day, plainName } from '../format/values.ts';
import { calendarOf } from '../reports/calendar.ts';
import { type ExperimentPlan, planExperiment } from '../reports/experiment-plan.ts';
import { liftReport } from '../reports/lift.ts';
import { reportedAccount } from '../reports/report-query.ts';
import type { Account } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson, printLine, printTable, withAccount } from './output.ts';
import { optionOf, type PrintedOptions, printReport, withOutputs } from './report.ts';

const nameArgument = () => new Argument('<name>', 'name of the experiment').argParser(refusing(plainName));
const segmentOption = () => new Option('--segment <id>', 'the segment to measure').makeOptionMandatory();
const goalOption = () =>
	new Option('--goal <name>', 'the goal that visitors should reach (default: subscription, else the first)');
const dayOption = (flag: string, text: string) => new Option(`${flag} <day>`, text).argParser(refusing(day));
const maxHoldoutPercent = 90;

interface CreateOptions extends CommonOptions {
	readonly segment: string;
	readonly goal?: string;
	readonly holdout: number;
	readonly from?: string;
	readonly to?: string;
}

export function experimentCommand(): Command {
	const command = new Command('experiment')
		.summary('measure what serving a segment brings, with a control group')
		.description(
			`Measure what serving a segment brings. While an experiment runs, a share of the visitors is held out: pages and webhooks do
not see the segment for them.

docs/experiments.md says what that changes, and for whom.`,
		);
	command
		.command('create')
		.summary('begin an experiment')
		.description(
			`Hold some visitors out of a segment. The segment's rule cannot change until the experiment has ended; the name of an
experiment is never used again.`,
		)
		.addArgument(aidArgument())
		.addArgument(nameArgument())
		.addOption(segmentOption())
		.addOption(goalOption())
		.addOption(
			new Option('--holdout <percent>', 'share of visitors to hold out')
				.default(10)
				.argParser(positiveNumber(maxHoldoutPercent)),
		)
		.addOption(dayOption('--from', "the first day, in the account's time zone (default: now)"))
		.addOption(dayOption('--to', 'the day after the last one (default: until it is stopped)'))
		.addCommonOptions()
		.action((aid: string, name: string, options: CreateOptions) =>
			withAccount(options, aid, async (store, account) => {
				const experiment = await newExperiment(store, account, name, options);
				const created = await store.control.createExperiment(account.id, experiment);
				print(options, shown(created, store.now()));
			}),
		);
	command
		.command('plan')
		.summary('how long an experiment would take')
		.description(
			`Say how many visitors would enter an experiment, and how many weeks it takes until lifts of 5, 10 and 20 % are seen in four of
five experiments, with 5, 10, 20 and 50 % held out, by the account's own last weeks.`,
		)
		.addArgument(aidArgument())
		.addOption(segmentOption())
		.addOption(goalOption())
		.addCommonOptions()
		.action((aid: string, options: CommonOptions & { segment: string; goal?: string }) =>
			withAccount(options, aid, async (store, account) => {
				const { rule } = await store.control.segment(account.id, options.segment);
				const goal = await chosenGoal(store, account, options.goal);
				const plan = await planExperiment(store, reportedAccount(account), { rule, goal }, store.now());
				if (options.json) printJson({ segment: options.segment, ...plan });
				else printPlan(plan);
			}),
		);
	command
		.command('list')
		.description("list an account's experiments")
		.addArgument(aidArgument())
		.addCommonOptions()
		.action((aid: string, options: CommonOptions) =>
			withAccount(options, aid, async (store, { id }) => {
				const experiments = await store.control.experiments(id);
				print(
					options,
					experiments.map((experiment) => shown(experiment, store.now())),
					`No experiments. 'caskade experiment create ${aid} NAME --segment ID' begins one.`,
				);
			}),
		);
	command
		.command('stop')
		.description('end an experiment: all visitors get the segment again')
		.addArgument(aidArgument())
		.addArgument(nameArgument())
		.addCommonOptions()
		.action((aid: string, name: string, options: CommonOptions) =>
			withAccount(options, aid, async (store, { id }) => {
				print(options, shown(await store.control.stopExperiment(id, name), store.now()));
			}),
		);
	withOutputs(
		command
			.command('report')
			.summary('what serving the segment earned, and how sure that is')
			.description(
				"Print an experiment's report: the same as 'caskade report lift'. docs/experiments.md explains it.",
			)
			.addArgument(aidArgument())
			.addArgument(nameArgument())
			.addOption(optionOf('asOf'))
			.addOption(optionOf('timezone')),
	)
		.addCommonOptions()
		.action(
			(aid: string, experiment: string, options: PrintedOptions & { asOf?: number; timezone?: string }) => {
				const { asOf = null, timezone = null } = options;
				return printReport(liftReport, aid, { experiment, asOf, timezone }, options);
			},
		);
	return command;
}

/** Without the secret. */
function shown(experiment: Experiment, nowMs: number) {
	const { name, segment, goal, holdoutPercent, fromMs, toMs, stoppedAtMs } = experiment;
	const state = stateOf(experiment, nowMs);
	const stoppedAt = isoTime(stoppedAtMs);
	return { name, segment, goal, holdoutPercent, state, from: isoTime(fromMs), to: isoTime(toMs), stoppedAt };
}

async function newExperiment(
	store: Store,
	account: Account,
	name: string,
	{ segment, goal, holdout, from, to }: CreateOptions,
): Promise<Omit<Experiment, 'secret' | 'stoppedAtMs'>> {
	const { control, now } = store;
	const calendar = calendarOf(account.timezone);
	const fromMs = from === undefined ? now() : calendar.startOfDay(from);
	const toMs = to === undefined ? null : calendar.startOfDay(to);
	if (toMs !== null && toMs <= Math.max(now(), fromMs))
		throw new OperatorError('--to must be later than --from, and not over yet.');
	if (from !== undefined && fromMs < calendar.startOfDay(calendar.dayOf(now())))
		throw new OperatorError('--from cannot be past: nobody was held out then.');
	const { rule } = await control.segment(account.id, segment);
	const chosen = await chosenGoal(store, account, goal);
	return {
		name,
		segment,
		rule,
		goal: chosen.name,
		holdoutPercent: holdout,
		fromMs: Math.max(fromMs, now()),
		toMs,
	};
}

/** The goal of this name; without one, `subscription`, else the first. @throws OperatorError where there is none */
async function chosenGoal({ control }: Store, { id }: Account, name: string | undefined): Promise<Goal> {
	const goals = await control.goals(id);
	const chosen =
		name === undefined
			? (goals.find((one) => one.name === 'subscription') ?? goals[0])
			: goals.find((one) => one.name === name);
	if (!chosen)
		throw new OperatorError(`The account has no goal ${name ?? 'yet'}; 'caskade goal list AID' shows all.`);
	return chosen;
}

function printPlan({ goal, plans, ...history }: ExperimentPlan): void {
	const { weeksOfHistory, enteredInFirstWeek, entersAWeek, conversionRate, varianceReduction } = history;
	printLine(
		`By the last ${counted(weeksOfHistory, 'week')}: ${counted(enteredInFirstWeek, 'visitor')} would have entered in the first one, ${formatNumber(entersAWeek)} a week at last. ${formatShare(conversionRate)} of them reached ${goal}${varianceReduction > 0 ? `, and the score at entry takes away ${formatShare(varianceReduction)} of the variance` : ''}.`,
	);
	printLine('');
	printTable(
		plans.map((plan) => ({
			'held out': `${plan.holdoutPercent} %`,
			lift: `${plan.relativeLiftPercent} %`,
			visitors: plan.visitors,
			weeks: plan.weeks ?? 'years',
			'visitors, any look': plan.visitorsAtEveryLook,
			'weeks, any look': plan.weeksAtEveryLook ?? 'years',
		})),
		'',
	);
	printLine('');
	printLine(
		'In four of five experiments the interval excludes 0 by then: with one look that is planned ahead, or looking at any time.',
	);
}
