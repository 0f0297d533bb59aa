import { leftOutText } from '../../../core/domain/mail-gateways.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { Rule } from '../../../core/segments/rule.ts';
import type { Account } from '../../../core/store/control/control-store.ts';
import type { PageReads } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command, includeOption } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { plainName } from '../../../kit/format/values.ts';
import { knownAccount } from '../../../kit/reading/known-account.ts';
import * as segments from '../acts/segment-acts.ts';
import { type CountOptions, countMatches, type MatchCount } from '../count.ts';

const idArgument = [
	'<id>',
	'id of the segment, as pages read it, for example high-intent',
	plainName,
] as const;

const test = command('test', 'count the visitors that match a rule')
	.description('Count the visitors that match a segment, or a rule that is not saved yet.')
	.argument('[id]', 'id of a segment, where there is no --rule')
	.option('--rule <cel>', 'the rule to try')
	.option(...includeOption)
	.onAccount(async (store, account, options, id) => {
		if ((id === undefined) === (options.rule === undefined))
			throw new OperatorError('Set either an ID or --rule.');
		const text = options.rule ?? (await store.control.segment(account.id, id as string)).rule;
		const rule = await checkedRule(store, account.id, text);
		const { include } = options;
		const count = await countIn(store, account, rule, { quiet: options.json ?? false, include });
		const share = count.visitors === 0 ? 0 : count.matching / count.visitors;
		print(
			options,
			{ rule: text, ...count, share },
			[
				`${count.matching} of ${count.visitors} visitors match (${(share * 100).toFixed(1)} %): ${text}`,
				...(count.gatewayVisitors ? [leftOutLine(count)] : []),
			].join('\n'),
		);
	});

const members = command('members', 'list the visitors in a segment')
	.description(
		`Print the vid of each visitor who matches a segment now, one per line, as 'caskade score --visitors' takes them; with
--json, one array.`,
	)
	.argument(...idArgument)
	.option(...includeOption)
	.onAccount(async (store, account, options, id) => {
		const rule = await checkedRule(store, account.id, (await store.control.segment(account.id, id)).rule);
		const vids: string[] = [];
		const quiet = options.json === true || process.stdout.isTTY;
		const { include } = options;
		const onMatch = (vid: string) => vids.push(vid);
		const count = await countIn(store, account, rule, { quiet, include, onMatch });
		if (!options.json && count.gatewayVisitors) process.stderr.write(`${leftOutLine(count)}\n`);
		print(options, vids, () => process.stdout.write(vids.map((vid) => `${vid}\n`).join('')));
	});

export const segmentCommand = nounCommand(
	'segment',
	'create, update, test, list, delete segments',
	`Manage segments. A segment is the visitors that match a rule. Rules are written in CEL, over facts about a visitor:

  visitor.visits >= 3 && "pricing" in visitor.pages7d
  bands.subscription == "high" && visitor.subscriptions == 0

docs/reference/segments.md lists all facts.`,
	segments,
	[test, members],
);

/** Compiles the rule and checks its goals against the account's. */
async function checkedRule(store: Store, accountId: number, text: string): Promise<Rule> {
	const goals = await store.control.goals(accountId);
	// Loaded here, since no other command should wait for it.
	const { compileRule } = await import('../../../core/segments/rule.ts');
	return compileRule(
		text,
		goals.map(({ name }) => name),
	);
}

/** What is said of the visitors who are not counted. */
function leftOutLine({ gatewayVisitors = 0 }: MatchCount): string {
	return `${leftOutText(gatewayVisitors)} To count them, add --include gateways.`;
}

/** Counts the matches, with the scores that a server would serve. */
async function countIn(
	store: Store & PageReads,
	{ aid }: Account,
	rule: Rule,
	{ quiet, ...counting }: { quiet: boolean } & Omit<CountOptions, 'onProgress'>,
): Promise<MatchCount> {
	const account = await knownAccount(store, aid);
	const progress = showProgress(process.stderr, 'visitors', quiet);
	const onProgress = (done: number, total: number) => progress.update(`testing ${aid}`, done, total);
	try {
		return await countMatches(store, account, rule, { ...counting, onProgress });
	} finally {
		progress.end();
	}
}
