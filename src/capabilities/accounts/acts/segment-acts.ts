import type { ControlStore } from '../../../core/store/control/control-store.ts';
import { act } from '../../../kit/act.ts';
import { displayName, plainName } from '../../../kit/format/values.ts';
import { listing } from '../../../kit/listing.ts';

const segment = {
	flag: '<id>',
	text: 'id of the segment, as pages read it, for example high-intent',
	parse: plainName,
} as const;
const name = { flag: '--name <text>', text: 'its name for people', parse: displayName } as const;
const rule = { flag: '--rule <cel>', text: 'the rule' } as const;

export const createSegment = act({
	noun: 'segment',
	verb: 'create',
	demand: 'session',
	summary: 'add a segment',
	description:
		'Add a segment. The rule is checked first. `caskade segment test` counts the visitors that it would match.',
	right: 'visitors',
	takes: { segment, name, rule },
	async run(control, { account }, { segment: id, name, rule }) {
		const created = { id, name, rule: await checkedRule(control, account.id, rule) };
		await control.createSegment(account.id, created);
		return created;
	},
});

export const updateSegment = act({
	noun: 'segment',
	verb: 'update',
	demand: 'session',
	summary: 'change the name or the rule of a segment',
	description: `Change a segment. What is left out stays. Servers apply a new rule within a second; webhooks get one message,
segments.recomputed.`,
	right: 'visitors',
	takes: { segment, name: { ...name, isOptional: true }, rule: { ...rule, isOptional: true } },
	run: async (control, { account }, { segment, name, rule }) =>
		control.updateSegment(account.id, segment, {
			...(name !== undefined && { name }),
			...(rule !== undefined && { rule: await checkedRule(control, account.id, rule) }),
		}),
});

export const deleteSegment = act({
	noun: 'segment',
	verb: 'delete',
	summary: 'delete a segment; pages no longer see it',
	right: 'visitors',
	takes: { segment },
	run: (control, { account }, { segment }) => control.deleteSegment(account.id, segment),
});

/** Compiles the rule and checks its goals against the account's. @throws OperatorError */
async function checkedRule(control: ControlStore, accountId: number, text: string): Promise<string> {
	const goals = await control.goals(accountId);
	// Loaded here, since no other command should wait for it.
	const { compileRule } = await import('../../../core/segments/rule.ts');
	return compileRule(
		text,
		goals.map(({ name }) => name),
	).text;
}

export const segmentList = listing({
	noun: 'segment',
	summary: "list an account's segments and their rules",
	empty: ({ aid }) => `No segments. 'caskade segment create ${aid} ID' creates one.`,
	read: ({ control }, { id }) => control.segments(id),
});
