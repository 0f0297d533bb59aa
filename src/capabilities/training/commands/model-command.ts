import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { print, printLine, printRecord, printTable } from '../../../kit/cli/output.ts';
import * as acts from '../acts.ts';
import { activateModel } from '../acts.ts';
import {
	type ComparedModel,
	comparedModels,
	modelReport,
	requireGoal,
	unusableModels,
	unusableSentence,
} from '../judge/model-versions.ts';
import { printLevels, printLiftMeasures, printMeasures } from './training-text.ts';

const goalArgument = ['<goal>', 'name of the goal'] as const;
const { flag, text, choices, usual } = activateModel.takes.scope;
const scopeOption = [flag, text, choices, usual] as const;

const list = command('list', 'list models, to compare them')
	.description(
		`List an account's models, with how well each did on rows later than those it learned from. A lower log loss is
better, and it should be below that of the base rate.`,
	)
	.option('--goal <name>', 'only models of this goal')
	.onAccount(async (store, { aid, id }, options) => {
		if (options.goal !== undefined) await requireGoal(store, id, options.goal);
		const models = await comparedModels(store, id, options.goal);
		const unusable = await unusableModels(store, [{ id, aid }]);
		print(options, models, () => {
			printTable(models.map(rounded), `No models. 'caskade train ${aid}' makes them.`);
			if (unusable.length > 0) printLine(`Not used: ${unusableSentence(aid, unusable)}.`);
		});
	});

const show = command('show', 'how a model was trained and judged')
	.description(
		'Print the report of a model: what it was trained on, how it was judged, and what moves its scores. If it has been\nactive, also print the mean score as served and the rate for each week.',
	)
	.argument(...goalArgument)
	.argument('<version>', 'version of the model, such as 2026-11-21.1')
	.option(...scopeOption)
	.onAccount(async (store, { aid, id }, options, goal, version) => {
		const { scope } = options;
		const name = { goal, scope, version };
		const report = await modelReport(store, id, name);
		const stored = (await store.control.models(id)).find(
			(model) => model.goal === goal && model.scope === scope && model.version === version,
		);
		const about = { aid, ...name, active: stored?.active ?? false, createdAt: stored?.createdAt ?? '' };
		const levels = await store.control.modelLevels(id, name);
		print(options, { ...about, levels: levels ?? null, report }, () => {
			printRecord(about);
			printLine('');
			if (report.kind === 'lift') printLiftMeasures(report);
			else if (report.verdict === undefined)
				printLine('An earlier version made this model; --json prints its report.');
			else printMeasures(report);
			if (levels) printLevels(levels);
		});
	});

export const modelCommand = nounCommand(
	'model',
	'list, compare, activate models',
	`Manage the models that compute a goal's scores. Every training stores a version; one of them, or none, is active.
Running servers use a newly activated version within two seconds. If none is active, they serve the base rate, 'prior'.`,
	acts,
	[list, show],
);

function rounded({ auc, logLoss, baseRateLogLoss, active, ...model }: ComparedModel): object {
	return {
		...model,
		active: active ? 'yes' : 'no',
		auc: auc?.toFixed(3),
		logLoss: logLoss?.toFixed(4),
		baseRateLogLoss: baseRateLogLoss?.toFixed(4),
	};
}
