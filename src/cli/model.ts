import { Argument, Option } from 'commander';
import { Command } from '../config.ts';
import type { CaskScope } from '../domain/cask-scope.ts';
import type { Goal } from '../domain/goal.ts';
import { OperatorError } from '../errors.ts';
import type { GoalReport } from '../scoring/judge/account-training.ts';
import { type GoalModel, openModel, UnusableModelError } from '../scoring/serve/goal-model.ts';
import type { ModelName, StoredModel } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import {
	type CommonOptions,
	print,
	printJson,
	printLine,
	printRecord,
	printTable,
	withAccount,
} from './output.ts';
import { printLevels, printMeasures } from './training-text.ts';

interface ScopeOptions extends CommonOptions {
	readonly scope: CaskScope;
}

const goalArgument = () => new Argument('<goal>', 'name of the goal');
const scopeOption = () =>
	new Option('--scope <scope>', 'what it scores: vid for visitors, sid for single visits')
		.choices(['vid', 'sid'])
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
				const models = await compared(store, id, options.goal);
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
				const report = await reportOf(store, id, name);
				const stored = (await store.control.models(id)).find((model) => isSame(model, name));
				const about = { aid, ...name, active: stored?.active ?? false, createdAt: stored?.createdAt ?? '' };
				const levels = await store.control.modelLevels(id, name);
				if (options.json) printJson({ ...about, levels: levels ?? null, report });
				else {
					printRecord(about);
					printLine('');
					if (report.verdict === undefined)
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
				await requireGoal(store, id, goal);
				if (version === 'prior') await store.control.activateModel(id, { goal, scope, version: null });
				else {
					// One that this program cannot apply would leave pages with the base rate.
					await usableModel(store, id, { goal, scope, version });
					const { kind }: Partial<GoalReport> = JSON.parse(
						await store.control.modelReport(id, { goal, scope, version }),
					);
					if (kind === 'prior')
						throw new OperatorError(
							`Goal ${goal}: training found nothing better than the base rate for version ${version}. 'prior' serves it.`,
						);
					await store.control.activateModel(id, { goal, scope, version });
				}
				const used = { aid, goal, scope, version };
				print(options, used);
			}),
		);
	return command;
}

/** @throws OperatorError where the account has none of that name */
export async function requireGoal(store: Store, accountId: number, name: string): Promise<Goal> {
	const goals = await store.control.goals(accountId);
	const goal = goals.find((one) => one.name === name);
	if (!goal) throw new OperatorError(`The account has no goal ${name}; 'caskade goal list AID' shows all.`);
	return goal;
}

/** @throws OperatorError where there is none, or it cannot be applied */
export async function usableModel(store: Store, accountId: number, name: ModelName): Promise<GoalModel> {
	try {
		return openModel(name.version, await store.control.modelBody(accountId, name));
	} catch (error) {
		if (!(error instanceof UnusableModelError)) throw error;
		throw new OperatorError(`Goal ${name.goal}: ${error.message}.`, { cause: error });
	}
}

function isSame(a: ModelName, b: ModelName): boolean {
	return a.goal === b.goal && a.scope === b.scope && a.version === b.version;
}

/** How well a model did, beside what it is. */
interface ComparedModel extends StoredModel {
	readonly kind: string;
	readonly auc: number | null;
	readonly logLoss: number | null;
	readonly baseRateLogLoss: number | null;
}

async function compared(store: Store, accountId: number, goal: string | undefined): Promise<ComparedModel[]> {
	const models = await store.control.models(accountId);
	const ofGoal = models.filter((model) => goal === undefined || model.goal === goal);
	const rows: ComparedModel[] = [];
	for (const { active, createdAt, ...name } of ofGoal) {
		const { kind, later } = await reportOf(store, accountId, name);
		rows.push({
			...name,
			active,
			createdAt,
			kind,
			auc: later?.auc.value ?? null,
			logLoss: later?.logLoss ?? null,
			baseRateLogLoss: later?.baseRateLogLoss ?? null,
		});
	}
	return rows;
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

async function reportOf(store: Store, accountId: number, name: ModelName): Promise<GoalReport> {
	return JSON.parse(await store.control.modelReport(accountId, name));
}
