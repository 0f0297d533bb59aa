import { Argument, Option } from 'commander';
import { refusing } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { displayName, plainName } from '../format/values.ts';
import { countMatches, type MatchCount } from '../segments/count.ts';
import type { Rule } from '../segments/rule.ts';
import type { Account } from '../store/control/control-store.ts';
import type { PageReads } from '../store/serving.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson } from './output.ts';
import { showProgress } from './progress.ts';

const idArgument = () =>
	new Argument('<id>', 'id of the segment, as pages read it, for example high-intent').argParser(
		refusing(plainName),
	);

const nameOption = () => new Option('--name <text>', 'its name for people').argParser(refusing(displayName));

export function segmentCommand(): Command {
	const command = new Command('segment').summary('create, update, test, list, delete segments').description(
		`Manage segments. A segment is the visitors that match a rule. Rules are written in CEL, over facts about a visitor:

  visitor.visits >= 3 && "pricing" in visitor.pages7d
  bands.subscription == "high" && visitor.subscriptions == 0

docs/segments.md lists all facts.`,
	);
	createCommand(command);
	updateCommand(command);
	testCommand(command);
	membersCommand(command);
	command
		.command('list')
		.description("list an account's segments and their rules")
		.addArgument(aidArgument())
		.onAccount(async (store, { aid, id }, options) => {
			const segments = await store.control.segments(id);
			print(options, segments, `No segments. 'caskade segment create ${aid} ID' creates one.`);
		});
	command
		.command('delete')
		.description('delete a segment; pages no longer see it')
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) => {
			await store.control.deleteSegment(account.id, id);
			print(options, { deleted: id }, `Segment ${id} is deleted.`);
		});
	return command;
}

function createCommand(command: Command): void {
	command
		.command('create')
		.summary('add a segment')
		.description(
			'Add a segment. The rule is checked first. `caskade segment test` counts the visitors that it would match.',
		)
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.addOption(nameOption().makeOptionMandatory())
		.requiredOption('--rule <cel>', 'the rule')
		.onAccount(
			async (store, account, options: CommonOptions & { name: string; rule: string }, id: string) => {
				const { text } = await checkedRule(store, account.id, options.rule);
				const segment = { id, name: options.name, rule: text };
				await store.control.createSegment(account.id, segment);
				print(options, segment);
			},
		);
}

function updateCommand(command: Command): void {
	command
		.command('update')
		.summary('change the name or the rule of a segment')
		.description(
			`Change a segment. What is left out stays. Servers apply a new rule within a second; webhooks are told once, with
segments.recomputed.`,
		)
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.addOption(nameOption())
		.option('--rule <cel>', 'the rule')
		.requireChange()
		.onAccount(
			async (store, account, options: CommonOptions & { name?: string; rule?: string }, id: string) => {
				const { name, rule } = options;
				const segment = await store.control.updateSegment(account.id, id, {
					...(name !== undefined && { name }),
					...(rule !== undefined && { rule: (await checkedRule(store, account.id, rule)).text }),
				});
				print(options, segment);
			},
		);
}

function testCommand(command: Command): void {
	command
		.command('test')
		.summary('count the visitors that match a rule')
		.description('Count the visitors that match a segment, or a rule that is not saved yet.')
		.addArgument(aidArgument())
		.argument('[id]', 'id of a segment, where there is no --rule')
		.option('--rule <cel>', 'the rule to try')
		.onAccount(async (store, account, options: CommonOptions & { rule?: string }, id: string | undefined) => {
			const text = await ruleToTest(store, account.id, id, options.rule);
			const rule = await checkedRule(store, account.id, text);
			const count = await countIn(store, account, rule, { quiet: options.json ?? false });
			const share = count.visitors === 0 ? 0 : count.matching / count.visitors;
			print(
				options,
				{ rule: text, ...count, share },
				`${count.matching} of ${count.visitors} visitors match (${(share * 100).toFixed(1)} %): ${text}`,
			);
		});
}

function membersCommand(command: Command): void {
	command
		.command('members')
		.summary('list the visitors in a segment')
		.description(
			`Print the vid of each visitor who matches a segment now, one per line, as 'caskade score --visitors' takes them; with
--json, one array.`,
		)
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) => {
			const rule = await checkedRule(store, account.id, (await store.control.segment(account.id, id)).rule);
			const members: string[] = [];
			const quiet = options.json === true || process.stdout.isTTY;
			await countIn(store, account, rule, { quiet, onMatch: (vid) => members.push(vid) });
			if (options.json) printJson(members);
			else process.stdout.write(members.map((vid) => `${vid}\n`).join(''));
		});
}

async function ruleToTest(
	store: Store,
	accountId: number,
	id: string | undefined,
	rule: string | undefined,
): Promise<string> {
	if ((id === undefined) === (rule === undefined)) throw new OperatorError('Set either an ID or --rule.');
	if (rule !== undefined) return rule;
	return (await store.control.segment(accountId, id as string)).rule;
}

/** Compiles the rule and checks its goals against the account's. */
async function checkedRule(store: Store, accountId: number, text: string): Promise<Rule> {
	const goals = await store.control.goals(accountId);
	// Loaded here, since no other command should wait for it.
	const { compileRule } = await import('../segments/rule.ts');
	return compileRule(
		text,
		goals.map(({ name }) => name),
	);
}

/** Counts the matches, with the scores that a server would serve. */
async function countIn(
	store: Store & PageReads,
	{ aid }: Account,
	rule: Rule,
	{ quiet, onMatch }: { quiet: boolean; onMatch?: (vid: string) => void },
): Promise<MatchCount> {
	const account = (await store.control.accessSnapshot()).accounts.get(aid);
	if (!account) throw new OperatorError(`The account ${aid} is disabled, or its client is.`);
	const progress = showProgress(process.stderr, 'visitors', quiet);
	const onProgress = (done: number, total: number) => progress.update(`testing ${aid}`, done, total);
	try {
		return await countMatches(store, account, rule, onProgress, onMatch);
	} finally {
		progress.end();
	}
}
