import type { CaskScope } from '../../domain/cask-scope.ts';
import type { ModelLevels } from '../../domain/model-levels.ts';
import { OperatorError } from '../../errors.ts';
import { type ControlDatabase, type ControlTables, nextSeq } from './tables.ts';

/** Identifies a model within its account. */
export interface ModelName {
	readonly goal: string;
	/** Whether it scores visitors or single visits. */
	readonly scope: CaskScope;
	/** For example `2026-11-21.1`: the day, and a number within the day. */
	readonly version: string;
}

/**
 * The body of a deleted model. Its row stays, so that its version is never given to another model, to which earlier
 * scores would then seem to belong.
 */
const deleted = '';

export interface StoredModel extends ModelName {
	readonly active: boolean;
	readonly createdAt: string;
}

/** An active model. */
export interface ActiveModel extends ModelName {
	/** Whether outcomes have left the interval of its predictions. */
	readonly isOutside?: boolean;
}

/** Converts an active model's row. */
export function toActiveModel({
	goal,
	scope,
	version,
	levels,
}: ModelName & { readonly levels: string | null }): ActiveModel {
	if (levels === null) return { goal, scope, version };
	const { weeks }: ModelLevels = JSON.parse(levels);
	return { goal, scope, version, isOutside: weeks.at(-1)?.isOutside ?? false };
}

/** In order of creation, without their bodies. */
export async function selectModels(database: ControlDatabase, accountId: number): Promise<StoredModel[]> {
	const rows = await database
		.selectFrom('model')
		.select(['goal', 'scope', 'version', 'active', 'created_at'])
		.where('account_id', '=', accountId)
		.where('body', '<>', deleted)
		.orderBy('seq')
		.execute();
	return rows.map(({ active, created_at, ...name }) => ({
		...name,
		active: active === 1,
		createdAt: new Date(created_at).toISOString(),
	}));
}

/** Adds an inactive model and gives it the next version of the day. A version is never reused. */
export async function insertModel(
	database: ControlDatabase,
	accountId: number,
	model: { goal: string; scope: CaskScope; body: string; report: string },
	nowMs: number,
): Promise<ModelName> {
	const { goal, scope, body, report } = model;
	const day = new Date(nowMs).toISOString().slice(0, 10);
	const ofTheDay = await database
		.selectFrom('model')
		.select('version')
		.where('account_id', '=', accountId)
		.where('goal', '=', goal)
		.where('scope', '=', scope)
		.where('version', 'like', `${day}.%`)
		.execute();
	const number = 1 + Math.max(0, ...ofTheDay.map(({ version }) => Number(version.slice(day.length + 1))));
	const name = { goal, scope, version: `${day}.${number}` };
	await database
		.insertInto('model')
		.values({
			...name,
			account_id: accountId,
			active: 0,
			body,
			report,
			created_at: nowMs,
			seq: await nextSeq(database, 'model'),
		})
		.execute();
	return name;
}

/**
 * Activates a version, or none, so that the base rate is served.
 * @throws OperatorError where there is no such version
 */
export async function activateModel(
	database: ControlDatabase,
	accountId: number,
	{ goal, scope, version }: { goal: string; scope: CaskScope; version: string | null },
): Promise<void> {
	const models = database
		.updateTable('model')
		.where('account_id', '=', accountId)
		.where('goal', '=', goal)
		.where('scope', '=', scope);
	await models.set({ active: 0 }).execute();
	if (version === null) return;
	const { numUpdatedRows } = await models
		.set({ active: 1 })
		.where('version', '=', version)
		.where('body', '<>', deleted)
		.executeTakeFirstOrThrow();
	if (numUpdatedRows !== 1n) throw noSuchModel({ goal, scope, version });
}

/** @throws OperatorError where there is none, or it is active */
export async function deleteModel(
	database: ControlDatabase,
	accountId: number,
	name: ModelName,
): Promise<void> {
	const { active } = await selectModel(database, accountId, name);
	if (active === 1)
		throw new OperatorError(`Model ${name.version} of goal ${name.goal} is active; activate another first.`);
	await emptyModels(database, accountId, name.goal)
		.where('scope', '=', name.scope)
		.where('version', '=', name.version)
		.execute();
}

/** Deletes all models of a goal, including the active ones. */
export async function deleteModels(
	database: ControlDatabase,
	accountId: number,
	goal: string,
): Promise<void> {
	await emptyModels(database, accountId, goal).execute();
}

function emptyModels(database: ControlDatabase, accountId: number, goal: string) {
	return database
		.updateTable('model')
		.set({ active: 0, body: deleted, report: '' })
		.where('account_id', '=', accountId)
		.where('goal', '=', goal);
}

/** @throws OperatorError where there is none */
export async function selectModel(
	database: ControlDatabase,
	accountId: number,
	name: ModelName,
): Promise<Pick<ControlTables['model'], 'active' | 'body' | 'report'>> {
	const row = await database
		.selectFrom('model')
		.select(['active', 'body', 'report'])
		.where('account_id', '=', accountId)
		.where('goal', '=', name.goal)
		.where('scope', '=', name.scope)
		.where('version', '=', name.version)
		.where('body', '<>', deleted)
		.executeTakeFirst();
	if (!row) throw noSuchModel(name);
	return row;
}

function noSuchModel({ goal, scope, version }: ModelName): OperatorError {
	return new OperatorError(`There is no model ${version} of goal ${goal} for ${scope}.`);
}

/** How its predictions compare with outcomes; undefined where none are known yet. */
export async function selectLevels(
	database: ControlDatabase,
	accountId: number,
	{ goal, scope, version }: ModelName,
): Promise<ModelLevels | undefined> {
	const row = await database
		.selectFrom('model')
		.select('levels')
		.where('account_id', '=', accountId)
		.where('goal', '=', goal)
		.where('scope', '=', scope)
		.where('version', '=', version)
		.executeTakeFirst();
	return row?.levels ? JSON.parse(row.levels) : undefined;
}

/** Does nothing if the model was deleted meanwhile. */
export async function updateLevels(
	database: ControlDatabase,
	accountId: number,
	{ goal, scope, version }: ModelName,
	levels: ModelLevels,
): Promise<void> {
	await database
		.updateTable('model')
		.set({ levels: JSON.stringify(levels) })
		.where('account_id', '=', accountId)
		.where('goal', '=', goal)
		.where('scope', '=', scope)
		.where('version', '=', version)
		.execute();
}
