import { bandsOf, goalCounts, goalDefaults } from '../../../core/domain/goal.ts';
import { act } from '../../../kit/act.ts';
import { eventName, plainName, positiveNumber } from '../../../kit/format/values.ts';
import { listing } from '../../../kit/listing.ts';

const goal = { flag: '<name>', text: 'name of the goal' } as const;
const bands = {
	flag: '--bands <medium,high>',
	text: 'percentiles at which the bands medium and high begin',
	parse: bandsOf,
} as const;
const counts = {
	flag: '--counts <events>',
	text: 'which upload events reach the goal',
	choices: goalCounts,
	label: 'Upload events that count',
} as const;

export const createGoal = act({
	noun: 'goal',
	verb: 'create',
	demand: 'session',
	summary: 'add a goal',
	description:
		"Add a goal. Until a model is trained, its score is the rate at which the account's visitors reach the goal.",
	right: 'operate',
	takes: {
		name: {
			flag: '<name>',
			text: 'name of the goal, as pages read it',
			parse: plainName,
			label: 'Name',
			hint: 'Pages read it by this name.',
		},
		evt: {
			flag: '--evt <names...>',
			text: "hit or upload events that reach the goal; '*' stands for every upload event, 'visit' for another visit",
			parse: eventName,
			label: 'Event types',
			hint: 'Hit or upload events that reach the goal, one on each line. * stands for every upload event, visit for another visit.',
		},
		counts: { ...counts, usual: goalDefaults.counts },
		horizonDays: {
			flag: '--horizon-days <number>',
			text: 'days within which the goal must be reached',
			parse: positiveNumber(365),
			label: 'Days',
			hint: 'Within how many days the goal must be reached.',
			usual: `${goalDefaults.horizonDays}`,
		},
		bands: { ...bands, usual: `${goalDefaults.mediumFrom},${goalDefaults.highFrom}` },
	},
	async run(control, { account }, { name, evt, counts, horizonDays, bands }) {
		const created = { name, evts: evt, counts, horizonDays, ...bands };
		await control.createGoal(account.id, created);
		return created;
	},
});

export const updateGoal = act({
	noun: 'goal',
	verb: 'update',
	demand: 'session',
	summary: 'change the bands of a goal, or what it counts',
	description: `Change the percentiles at which the bands of a goal begin; its models stay. Or change which upload events it counts: its
models are deleted, because they were trained on others. Its events and horizon cannot change; create another goal.`,
	right: 'operate',
	takes: { goal, bands: { ...bands, isOptional: true }, counts: { ...counts, isOptional: true } },
	run: (control, { account }, { goal, bands, counts }) =>
		control.updateGoal(account.id, goal, { ...bands, ...(counts && { counts }) }),
	remark: ({ account }, { goal, counts }) =>
		counts && `It has no model now; 'caskade train ${account.aid} --goal ${goal}' trains one.`,
});

export const deleteGoal = act({
	noun: 'goal',
	verb: 'delete',
	summary: 'delete a goal and its models; pages no longer see its score',
	right: 'operate',
	takes: { goal },
	run: (control, { account }, { goal }) => control.deleteGoal(account.id, goal),
});

export const goalList = listing({
	noun: 'goal',
	summary: "list an account's goals",
	empty: ({ aid }) => `No goals. 'caskade goal create ${aid} NAME --evt E' creates one.`,
	read: ({ control }, { id }) => control.goals(id),
});
