import { Argument, Option } from 'commander';
import type { ModelScope } from '../domain/cask-scope.ts';
import {
	type ComparedModel,
	comparedModels,
	modelReport,
	requireGoal,
	useModel,
} from '../scoring/judge/model-versions.ts';
import type { ModelName } from '../store/control/control-store.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import {
	type CommonOptions,
	print,
	printJson,
	printLine,
	printRecord,
	printTable,
	withAccount,
} from './output.ts';
import { printLevels, printLiftMeasures, printMeasures } from './training-text.ts';

interface ScopeOptions extends CommonOptions {
	readonly scope: ModelScope;
}

const goalArgument = () => new Argument('<goal>', 'name of the goal');
const scopeOption = () =>
	new Option('--scope <scope>', 'what it scores: vid for visitors, sid for single visits; or lift')
		.choices(['vid', 'sid', 'lift'])
		.default('vid');

export function modelCommand(): Command {
	const command = new Command('model').summary('list, compare, activate models').description(
		`Manage the models that compute a goal's scores. Every training stores a version; one of them, or none, is active.
Running servers use a newly activated version within two seconds. If none is active, they serve the base rate, 'prior'.`,
	);
	command
		.command('list')
		.summary('list models, to compare them')
		.description(
			`List an account's models, with how well each did on rows later than those it learned from. A lower log loss is
better, and it should be below that of the base rate.`,
		)
		.addArgument(aidArgument())
		.option('--goal <name>', 'only models of this goal')
		.addCommonOptions()
		.action((aid: string, options: CommonOptions & { goal?: string }) =>
			withAccount(options, aid, async (store, { id }) => {
				if (options.goal !== undefined) await requireGoal(store, id, options.goal);
				const models = await comparedModels(store, id, options.goal);
				if (options.json) printJson(models);
				else printTable(models.map(rounded), `No models. 'caskade train ${aid}' makes them.`);
			}),
		);
	command
		.command('show')
		.summary('how a model was trained and judged')
		.description(
			'Print the report of a model: what it was trained on, how it was judged, and what moves its scores. If it has been\nactive, also print the mean score as served and the rate for each week.',
		)
		.addArgument(aidArgument())
		.addArgument(goalArgument())
		.argument('<version>', 'version of the model, such as 2026-11-21.1')
		.addOption(scopeOption())
		.addCommonOptions()
		.action((aid: string, goal: string, version: string, options: ScopeOptions) =>
			withAccount(options, aid, async (store, { id }) => {
				const name = { goal, scope: options.scope, version };
				const report = await modelReport(store, id, name);
				const stored = (await store.control.models(id)).find((model) => isSame(model, name));
				const about = { aid, ...name, active: stored?.active ?? false, createdAt: stored?.createdAt ?? '' };
				const levels = await store.control.modelLevels(id, name);
				if (options.json) printJson({ ...about, levels: levels ?? null, report });
				else {
					printRecord(about);
					printLine('');
					if (report.kind === 'lift') printLiftMeasures(report);
					else if (report.verdict === undefined)
						printLine('An earlier version made this model; --json prints its report.');
					else printMeasures(report);
					if (levels) printLevels(levels);
				}
			}),
		);
	command
		.command('use')
		.summary('activate a version')
		.description(
			`Activate a version, for example to go back to an earlier one. 'prior' activates none, so that the base rate is
served.`,
		)
		.addArgument(aidArgument())
		.addArgument(goalArgument())
		.argument('<version>', 'version of the model, such as 2026-11-21.1, or prior')
		.addOption(scopeOption())
		.addCommonOptions()
		.action((aid: string, goal: string, version: string, options: ScopeOptions) =>
			withAccount(options, aid, async (store, { id }) => {
				const { scope } = options;
				await useModel(store, id, { goal, scope, version });
				const used = { aid, goal, scope, version };
				print(options, used);
			}),
		);
	return command;
}

function isSame(a: ModelName, b: ModelName): boolean {
	return a.goal === b.goal && a.scope === b.scope && a.version === b.version;
}

function rounded({ auc, logLoss, baseRateLogLoss, active, ...model }: ComparedModel): object {
	return {
		...model,
		active: active ? 'yes' : 'no',
		auc: auc?.toFixed(3),
		logLoss: logLoss?.toFixed(4),
		baseRateLogLoss: baseRateLogLoss?.toFixed(4),
	};
}
