import type { ModelScope } from '../../domain/cask-scope.ts';
import type { ModelLevels } from '../../domain/model-levels.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { insertNote } from './notes.ts';
import { insertRows, nextSeq, selectRows, updateRows } from './rows.ts';
import type { ControlDatabase, ControlDoors } from './tables.ts';

/** Identifies a model within its account. */
export interface ModelName {
	readonly goal: string;
	readonly scope: ModelScope;
	/** For example `2026-11-21.1`: the day, and a number within the day. */
	readonly version: string;
}

/**
 * The body of a deleted model. Its row stays, so that its version is never given to another model, to which earlier
 * scores would then seem to belong.
 */
const deleted = '';
const emptied = { active: 0, body: deleted, report: '' };

export interface StoredModel extends ModelName {
	readonly active: boolean;
	readonly createdAt: string;
}

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

/** Deletes all models of a goal, including the active ones. */
export async function deleteModels(
	database: ControlDatabase,
	accountId: number,
	goal: string,
): Promise<void> {
	await updateRows(database, 'model', { account_id: accountId, goal }, emptied);
}

function noSuchModel({ goal, scope, version }: ModelName): OperatorError {
	return new OperatorError(`There is no model ${version} of goal ${goal} for ${scope}.`);
}

function keyOf(account_id: number, { goal, scope, version }: ModelName) {
	return { account_id, goal, scope, version };
}

/** @throws OperatorError where there is none */
async function selectModel(database: ControlDatabase, accountId: number, name: ModelName) {
	const [row] = await selectRows(database, 'model', keyOf(accountId, name));
	if (!row || row.body === deleted) throw noSuchModel(name);
	return row;
}

/** Adds an inactive model and gives it the next version of the day. A version is never reused. */
async function insertModel(
	database: ControlDatabase,
	accountId: number,
	{ goal, scope, body, report }: NewModel,
	nowMs: number,
): Promise<ModelName> {
	const day = new Date(nowMs).toISOString().slice(0, 10);
	const ofTheDay = await database
		.selectFrom('model')
		.select('version')
		.where(({ and }) => and({ account_id: accountId, goal, scope }))
		.where('version', 'like', `${day}.%`)
		.execute();
	const number = 1 + Math.max(0, ...ofTheDay.map(({ version }) => Number(version.slice(day.length + 1))));
	const name = { goal, scope, version: `${day}.${number}` };
	await insertRows(database, 'model', {
		...name,
		account_id: accountId,
		active: 0,
		body,
		report,
		created_at: nowMs,
		seq: await nextSeq(database, 'model'),
	});
	return name;
}

async function activateModel(
	database: ControlDatabase,
	accountId: number,
	{ goal, scope, version }: ActiveName,
	nowMs: number,
): Promise<void> {
	const current = { account_id: accountId, goal, scope, active: 1 };
	const [before] = await selectRows(database, 'model', current);
	if (version === (before?.version ?? null)) return;
	await updateRows(database, 'model', current, { active: 0 });
	if (version !== null) {
		const name = { goal, scope, version };
		await selectModel(database, accountId, name);
		await updateRows(database, 'model', keyOf(accountId, name), { active: 1 });
	}
	const served = version === null ? 'the base rate' : `model ${version}`;
	const of = `${goal}, of ${scope === 'vid' ? 'visitors' : 'visits'}`;
	await insertNote(database, accountId, `Scores of ${of}, are those of ${served} from now on.`, nowMs);
}

/** `body` and `report` are JSON. */
interface NewModel {
	readonly goal: string;
	readonly scope: ModelScope;
	readonly body: string;
	readonly report: string;
}

/** A null version is none. */
type ActiveName = Omit<ModelName, 'version'> & { readonly version: string | null };

export function modelStore({ database, change, now }: ControlDoors) {
	return {
		/** In order of creation, without their bodies. */
		async models(accountId: number): Promise<StoredModel[]> {
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
				createdAt: isoTime(created_at),
			}));
		},

		/**
		 * Adds a model and gives it the next version of the day.
		 * @param then which version is active from then on: the new one, none (the base rate), or the current one
		 */
		insertModel: (
			accountId: number,
			model: NewModel,
			then: 'activate it' | 'activate none' | 'activate nothing' = 'activate nothing',
		): Promise<ModelName> =>
			change(async (transaction) => {
				const name = await insertModel(transaction, accountId, model, now());
				if (then === 'activate it') await activateModel(transaction, accountId, name, now());
				if (then === 'activate none')
					await activateModel(transaction, accountId, { ...name, version: null }, now());
				return name;
			}),

		/**
		 * Activates a version; `null` activates none, so that the base rate is served.
		 * @throws OperatorError where there is no such version
		 */
		activateModel: (accountId: number, name: ActiveName) =>
			change((transaction) => activateModel(transaction, accountId, name, now())),

		/** @throws OperatorError where there is none, or it is active */
		deleteModel: (accountId: number, name: ModelName): Promise<void> =>
			change(async (transaction) => {
				const { active } = await selectModel(transaction, accountId, name);
				if (active === 1)
					throw new OperatorError(
						`Model ${name.version} of goal ${name.goal} is active; activate another first.`,
					);
				await updateRows(transaction, 'model', keyOf(accountId, name), emptied);
			}),

		/** JSON, as it was inserted. @throws OperatorError where there is none */
		modelBody: async (accountId: number, name: ModelName) =>
			(await selectModel(database, accountId, name)).body,

		/** JSON, as it was inserted. @throws OperatorError where there is none */
		modelReport: async (accountId: number, name: ModelName) =>
			(await selectModel(database, accountId, name)).report,

		/**
		 * How its predictions compare with outcomes; undefined where none are known yet.
		 * @throws OperatorError where there is none
		 */
		async modelLevels(accountId: number, name: ModelName): Promise<ModelLevels | undefined> {
			const { levels } = await selectModel(database, accountId, name);
			return levels === null ? undefined : JSON.parse(levels);
		},

		/** Does nothing if the model was deleted meanwhile. */
		setModelLevels: (accountId: number, name: ModelName, levels: ModelLevels) =>
			change((transaction) =>
				updateRows(transaction, 'model', keyOf(accountId, name), { levels: JSON.stringify(levels) }),
			),
	};
}
