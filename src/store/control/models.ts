import type { CaskScope } from '../../domain/cask-scope.ts';
import { OperatorError } from '../../errors.ts';
import { type ControlDatabase, type ControlTables, nextSeq } from './tables.ts';

/** Names a model within its account. */
export interface ModelName {
	readonly goal: string;
	/** What it scores: visitors or single visits. */
	readonly scope: CaskScope;
	/** As `2026-11-21.1`: the day, and a number within the day. */
	readonly version: string;
}

/**
 * The body of a model that was deleted. Its row stays, so that its version is not given to another: scores that were
 * told with it would seem to be the other's.
 */
const deleted = '';

export interface StoredModel extends ModelName {
	readonly active: boolean;
	readonly createdAt: string;
}

/** In the order in which they were made, without their bodies. */
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

/** Adds a model, which is not active yet, and gives it the next version of the day; none is ever given twice. */
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
 * Makes one version the one that scores, or none: then the base rate is served.
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

/** Deletes all models of a goal, the active ones too. */
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
