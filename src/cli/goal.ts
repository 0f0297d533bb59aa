import { bandsOf, type Goal, goalCounts, goalDefaults, goalEvent } from '../domain/goal.ts';
import { plainName, positiveNumber } from '../format/values.ts';
import { command, group, repeated } from './command.ts';
import { print, printLine, printRecord } from './output.ts';

const { mediumFrom, highFrom } = goalDefaults;
const name = ['<name>', 'name of the goal'] as const;
const counts = ['--counts <events>', 'which upload events reach the goal', goalCounts] as const;
const bands = [
	'--bands <medium,high>',
	'percentiles at which the bands medium and high begin',
	bandsOf,
] as const;

const create = command('create', 'add a goal')
	.description(
		"Add a goal. Until a model is trained, its score is the rate at which the account's visitors reach the goal.",
	)
	.argument('<name>', 'name of the goal, as pages read it', plainName)
	.required(
		'--evt <names...>',
		"hit or upload events that reach the goal; '*' is every upload event, visit another visit",
		repeated(goalEvent),
	)
	.option(...counts, goalDefaults.counts)
	.option(
		'--horizon-days <number>',
		'days within which the goal must be reached',
		positiveNumber(365),
		goalDefaults.horizonDays,
	)
	.option(...bands, { mediumFrom, highFrom }, `${mediumFrom},${highFrom}`)
	.onAccount(async (store, { id }, options, name) => {
		const { evt, counts, horizonDays } = options;
		const created: Goal = { name, evts: [...new Set(evt)], counts, horizonDays, ...options.bands };
		await store.control.createGoal(id, created);
		print(options, created);
	});

const update = command('update', 'change the bands of a goal, or what it counts')
	.description(
		`Change the percentiles at which the bands of a goal begin; its models stay. Or change which upload events it counts: its
models are deleted, because they were trained on others. Its events and horizon cannot change; create another goal.`,
	)
	.argument(...name)
	.option(...bands)
	.option(...counts)
	.requireChange()
	.onAccount(async (store, { aid, id }, options, name) => {
		const { bands, counts } = options;
		const updated = await store.control.updateGoal(id, name, { ...bands, ...(counts && { counts }) });
		print(options, updated, () => {
			printRecord({ ...updated });
			if (counts) printLine(`It has no model now; 'caskade train ${aid} --goal ${name}' trains one.`);
		});
	});

const list = command('list', "list an account's goals").onAccount(async (store, { aid, id }, options) => {
	const goals = await store.control.goals(id);
	print(options, goals, `No goals. 'caskade goal create ${aid} NAME --evt E' creates one.`);
});

const remove = command('delete', 'delete a goal and its models; pages no longer see its score')
	.argument(...name)
	.onAccount(async (store, { id }, options, name) => {
		await store.control.deleteGoal(id, name);
		print(options, { deleted: name }, `Goal ${name} is deleted.`);
	});

export const goalCommand = group(
	'goal',
	'create, update, list, delete goals',
	`Manage goals: actions of visitors whose probability is scored. Every account starts with 'subscription' and
'return' (another visit), both within 7 days, and 'renewal': that the next renewal of a subscription comes in time.

Of upload events, an acquisition is a visitor's first event of a subscription ('subid'), a refund has a negative 'rvn', and a
renewal is any other. A goal counts acquisitions unless it names renewals, refunds, or any of them with --counts. A goal of
renewals is scored for who subscribes now, whatever its --horizon-days.`,
	[create, update, list, remove],
);
