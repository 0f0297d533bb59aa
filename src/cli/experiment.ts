import { Argument, Option } from 'commander';
import { Command, positiveNumber, refusing } from '../config.ts';
import { type Experiment, isRunning } from '../domain/experiment.ts';
import { OperatorError } from '../errors.ts';
import { isoTime } from '../format/iso-time.ts';
import { day, plainName } from '../format/values.ts';
import { calendarOf } from '../reports/calendar.ts';
import { liftReport } from '../reports/lift.ts';
import type { Account } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import { type CommonOptions, print, withAccount } from './output.ts';
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
	const state = isRunning(experiment, nowMs) ? 'running' : nowMs < fromMs ? 'planned' : 'ended';
	const stoppedAt = isoTime(stoppedAtMs);
	return { name, segment, goal, holdoutPercent, state, from: isoTime(fromMs), to: isoTime(toMs), stoppedAt };
}

async function newExperiment(
	{ control, now }: Store,
	{ id, timezone }: Account,
	name: string,
	{ segment, goal, holdout, from, to }: CreateOptions,
): Promise<Omit<Experiment, 'secret' | 'stoppedAtMs'>> {
	const calendar = calendarOf(timezone);
	const fromMs = from === undefined ? now() : calendar.startOfDay(from);
	const toMs = to === undefined ? null : calendar.startOfDay(to);
	if (toMs !== null && toMs <= Math.max(now(), fromMs))
		throw new OperatorError('--to must be later than --from, and not over yet.');
	if (from !== undefined && fromMs < calendar.startOfDay(calendar.dayOf(now())))
		throw new OperatorError('--from cannot be past: nobody was held out then.');
	const { rule } = await control.segment(id, segment);
	const goals = (await control.goals(id)).map((one) => one.name);
	const chosen = goal ?? goals.find((one) => one === 'subscription') ?? goals[0];
	if (chosen === undefined || !goals.includes(chosen))
		throw new OperatorError(`The account has no goal ${chosen ?? 'yet'}; 'caskade goal list AID' shows all.`);
	return {
		name,
		segment,
		rule,
		goal: chosen,
		holdoutPercent: holdout,
		fromMs: Math.max(fromMs, now()),
		toMs,
	};
}
