import { Option } from 'commander';
import { positiveNumber, refusing } from '../config.ts';
import {
	type Bands,
	bandsOf,
	type Goal,
	type GoalChange,
	type GoalCounts,
	goalCounts,
	goalDefaults,
	goalEvent,
} from '../domain/goal.ts';
import { plainName } from '../format/values.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson, printLine, printRecord } from './output.ts';

interface GoalCreateOptions extends CommonOptions {
	readonly evt: readonly string[];
	readonly counts: GoalCounts;
	readonly horizonDays: number;
	readonly bands: Bands;
}

const bandsOption = () =>
	new Option('--bands <medium,high>', 'percentiles at which the bands medium and high begin').argParser(
		refusing(bandsOf),
	);

const countsOption = () =>
	new Option('--counts <events>', 'which upload events reach the goal').choices(goalCounts);

export function goalCommand(): Command {
	const command = new Command('goal').summary('create, update, list, delete goals').description(
		`Manage goals: actions of visitors whose probability is scored. Every account starts with 'subscription' and
'return' (another visit), both within 7 days, and 'renewal': that the next renewal of a subscription comes in time.

Of upload events, an acquisition is a visitor's first event of a subscription ('subid'), a refund has a negative 'rvn', and a
renewal is any other. A goal counts acquisitions unless it names renewals, refunds, or any of them with --counts. A goal of
renewals is scored for who subscribes now, whatever its --horizon-days.`,
	);
	command
		.command('create')
		.summary('add a goal')
		.description(
			"Add a goal. Until a model is trained, its score is the rate at which the account's visitors reach the goal.",
		)
		.addArgument(aidArgument())
		.argument('<name>', 'name of the goal, as pages read it', refusing(plainName))
		.addOption(
			new Option(
				'--evt <names...>',
				"hit or upload events that reach the goal; '*' is every upload event, visit another visit",
			)
				.argParser((value: string, earlier: readonly string[] = []) => [
					...earlier,
					refusing(goalEvent)(value),
				])
				.makeOptionMandatory(),
		)
		.addOption(countsOption().default(goalDefaults.counts))
		.addOption(
			new Option('--horizon-days <number>', 'days within which the goal must be reached')
				.argParser(positiveNumber(365))
				.default(goalDefaults.horizonDays),
		)
		.addOption(
			bandsOption().default(
				{ mediumFrom: goalDefaults.mediumFrom, highFrom: goalDefaults.highFrom },
				`${goalDefaults.mediumFrom},${goalDefaults.highFrom}`,
			),
		)
		.onAccount(async (store, { id }, options: GoalCreateOptions, name: string) => {
			const { evt, counts, horizonDays } = options;
			const goal: Goal = { name, evts: [...new Set(evt)], counts, horizonDays, ...options.bands };
			await store.control.createGoal(id, goal);
			print(options, goal);
		});
	command
		.command('update')
		.summary('change the bands of a goal, or what it counts')
		.description(
			`Change the percentiles at which the bands of a goal begin; its models stay. Or change which upload events it counts: its
models are deleted, because they were trained on others. Its events and horizon cannot change; create another goal.`,
		)
		.addArgument(aidArgument())
		.argument('<name>', 'name of the goal')
		.addOption(bandsOption())
		.addOption(countsOption())
		.requireChange()
		.onAccount(
			async (store, { aid, id }, options: CommonOptions & GoalChange & { bands?: Bands }, name: string) => {
				const { bands, counts } = options;
				const goal = await store.control.updateGoal(id, name, { ...bands, ...(counts && { counts }) });
				if (options.json) return printJson(goal);
				printRecord({ ...goal });
				if (counts) printLine(`It has no model now; 'caskade train ${aid} --goal ${name}' trains one.`);
			},
		);
	command
		.command('list')
		.description("list an account's goals")
		.addArgument(aidArgument())
		.onAccount(async (store, { aid, id }, options) => {
			const goals = await store.control.goals(id);
			print(options, goals, `No goals. 'caskade goal create ${aid} NAME --evt E' creates one.`);
		});
	command
		.command('delete')
		.description('delete a goal and its models; pages no longer see its score')
		.addArgument(aidArgument())
		.argument('<name>', 'name of the goal')
		.onAccount(async (store, { id }, options, name: string) => {
			await store.control.deleteGoal(id, name);
			print(options, { deleted: name }, `Goal ${name} is deleted.`);
		});
	return command;
}
