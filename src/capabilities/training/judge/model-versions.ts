import type { Goal } from '../../../core/domain/goal.ts';
import { OperatorError } from '../../../core/errors.ts';
import { type GoalModel, openModel, UnusableModelError } from '../../../core/scoring/serve/goal-model.ts';
import type { ModelName, StoredModel } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import type { GoalReport } from './account-training.ts';
import type { ExperimentReport } from './experiment-training.ts';

/** An active model that this version cannot apply: pages are served the base rate instead. */
export interface UnusableModel {
	readonly aid: string;
	readonly name: ModelName;
	/** For people. */
	readonly reason: string;
}

/** The active models of all accounts, or of one, that this version cannot apply, as after an upgrade that has changed their format. */
export async function unusableModels(
	store: Control,
	accounts?: readonly { readonly id: number; readonly aid: string }[],
): Promise<UnusableModel[]> {
	const unusable: UnusableModel[] = [];
	for (const { id, aid } of accounts ?? (await store.control.accounts()))
		for (const { active, createdAt: _, ...name } of await store.control.models(id)) {
			if (!active) continue;
			const reason = await problemOfModel(store, id, name);
			if (reason !== undefined) unusable.push({ aid, name, reason });
		}
	return unusable;
}

/** Why this version cannot apply a model; undefined where it can. */
export async function problemOfModel(
	{ control }: Control,
	accountId: number,
	{ goal, scope, version }: ModelName,
): Promise<string | undefined> {
	try {
		openModel(version, await control.modelBody(accountId, { goal, scope, version }));
	} catch (error) {
		if (error instanceof UnusableModelError) return error.message;
		throw error;
	}
	return undefined;
}

/** What to tell an operator of models that cannot be applied, and the command that mends it. */
export function unusableSentence(aid: string, unusable: readonly UnusableModel[]): string {
	const names = unusable.map(({ name, reason }) => `${name.goal} (${name.scope}): ${reason}`);
	return `pages get the base rate instead of these models: ${names.join('; ')}. 'caskade train ${aid}' makes new ones`;
}

/** How well a model did, beside what it is. */
export interface ComparedModel extends StoredModel {
	/** `prior` if nothing better than the base rate, or than a lift of nobody, was found. */
	readonly kind: string;
	readonly auc: number | null;
	readonly logLoss: number | null;
	readonly baseRateLogLoss: number | null;
}

type Control = Pick<Store, 'control'>;

/** The models of an account, or of one goal, in order of creation. */
export async function comparedModels(
	store: Control,
	accountId: number,
	goal: string | undefined,
): Promise<ComparedModel[]> {
	const models = await store.control.models(accountId);
	const ofGoal = models.filter((model) => goal === undefined || model.goal === goal);
	const rows: ComparedModel[] = [];
	for (const { active, createdAt, ...name } of ofGoal) {
		const report = await modelReport(store, accountId, name);
		const later = report.kind === 'lift' ? undefined : report.later;
		rows.push({
			...name,
			active,
			createdAt,
			kind: report.kind === 'lift' && !report.serves ? 'prior' : report.kind,
			auc: later?.auc.value ?? null,
			logLoss: later?.logLoss ?? null,
			baseRateLogLoss: later?.baseRateLogLoss ?? null,
		});
	}
	return rows;
}

/** @throws OperatorError where there is no such model */
export async function modelReport(
	{ control }: Control,
	accountId: number,
	name: ModelName,
): Promise<GoalReport | ExperimentReport> {
	return JSON.parse(await control.modelReport(accountId, name));
}

/**
 * Activates a version, or none where it is `prior`, so that the base rate is served; of scope `lift`, so that nobody has one.
 * @throws OperatorError where there is none, or it is not to be used
 */
export async function useModel(
	store: Control,
	accountId: number,
	{ goal, scope, version }: ModelName,
): Promise<void> {
	await requireGoal(store, accountId, goal);
	if (version === 'prior') return store.control.activateModel(accountId, { goal, scope, version: null });
	const name = { goal, scope, version };
	// One that this program cannot apply would leave pages with the base rate.
	await usableModel(store, accountId, name);
	const report = await modelReport(store, accountId, name);
	if (report.kind === 'lift' && !report.serves)
		throw new OperatorError(
			`Goal ${goal}: the order by version ${version} was not shown to be better than chance. Only such a lift is served.`,
		);
	if (report.kind === 'prior')
		throw new OperatorError(
			`Goal ${goal}: training found nothing better than the base rate for version ${version}. 'prior' serves it.`,
		);
	await store.control.activateModel(accountId, name);
}

/** @throws OperatorError where the account has none of that name */
export async function requireGoal({ control }: Control, accountId: number, name: string): Promise<Goal> {
	const goals = await control.goals(accountId);
	const goal = goals.find((one) => one.name === name);
	if (!goal) throw new OperatorError(`The account has no goal ${name}; 'caskade goal list AID' shows all.`);
	return goal;
}

/** @throws OperatorError where there is none, or it cannot be applied */
export async function usableModel(
	{ control }: Control,
	accountId: number,
	name: ModelName,
): Promise<GoalModel> {
	try {
		return openModel(name.version, await control.modelBody(accountId, name));
	} catch (error) {
		if (!(error instanceof UnusableModelError)) throw error;
		throw new OperatorError(`Goal ${name.goal}: ${error.message}.`, { cause: error });
	}
}
