import type { ModelScope } from '../../domain/cask-scope.ts';
import type { ModelLevels } from '../../domain/model-levels.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import {
	type ColumnValues,
	changing,
	having,
	inserting,
	type Reading,
	type Steps,
	select,
	sql,
} from '../steps.ts';
import { type ControlDoors, nextSeq } from './control-tables.ts';
import { insertNote } from './note-store.ts';

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

interface ActiveModelRow extends ModelName {
	readonly account_id: number;
	readonly levels: string | null;
}

/** Those of all accounts. */
export const selectActiveModels = () =>
	select<ActiveModelRow>`account_id, goal, scope, version, levels FROM @model WHERE active = 1 ORDER BY goal, scope`;

export function toActiveModel({ goal, scope, version, levels }: ActiveModelRow): ActiveModel {
	if (levels === null) return { goal, scope, version };
	const { weeks }: ModelLevels = JSON.parse(levels);
	return { goal, scope, version, isOutside: weeks.at(-1)?.isOutside ?? false };
}

/** Deletes all models of a goal, including the active ones. */
export function* deleteModels(accountId: number, goal: string): Steps<void> {
	yield* updateModels({ account_id: accountId, goal }, emptied);
}

const updateModels = (key: ColumnValues, changes: ColumnValues) =>
	sql`UPDATE @model SET ${changing(changes)} WHERE ${having(key)}`;

function keyOf(account_id: number, { goal, scope, version }: ModelName) {
	return { account_id, goal, scope, version };
}

interface ModelRow extends ModelName {
	readonly active: number;
	readonly body: string;
	readonly report: string;
	readonly levels: string | null;
}

/** @throws OperatorError where there is none */
function* selectModel(accountId: number, name: ModelName): Reading<ModelRow> {
	const [row] = yield* select<ModelRow>`* FROM @model WHERE ${having(keyOf(accountId, name))}`;
	if (!row || row.body === deleted)
		throw new OperatorError(`There is no model ${name.version} of goal ${name.goal} for ${name.scope}.`);
	return row;
}

/** Adds an inactive model and gives it the next version of the day. A version is never reused. */
function* insertModel(
	accountId: number,
	{ goal, scope, body, report }: NewModel,
	nowMs: number,
): Steps<ModelName> {
	const day = new Date(nowMs).toISOString().slice(0, 10);
	const ofTheDay =
		yield* select<ModelName>`version FROM @model WHERE ${having({ account_id: accountId, goal, scope })} AND version LIKE ${`${day}.%`}`;
	const number = 1 + Math.max(0, ...ofTheDay.map(({ version }) => Number(version.slice(day.length + 1))));
	const name = { goal, scope, version: `${day}.${number}` };
	const seq = yield* nextSeq('model');
	yield* sql`INSERT INTO @model ${inserting({ ...keyOf(accountId, name), active: 0, body, report, created_at: nowMs, seq })}`;
	return name;
}

function* activateModel(accountId: number, { goal, scope, version }: ActiveName, nowMs: number): Steps<void> {
	const current = { account_id: accountId, goal, scope, active: 1 };
	const [before] = yield* select<ModelName>`version FROM @model WHERE ${having(current)}`;
	if (version === (before?.version ?? null)) return;
	yield* updateModels(current, { active: 0 });
	if (version !== null) {
		const name = { goal, scope, version };
		yield* selectModel(accountId, name);
		yield* updateModels(keyOf(accountId, name), { active: 1 });
	}
	const served = version === null ? 'the base rate' : `model ${version}`;
	const scored = `${scope === 'vid' ? 'visitors' : 'visits'} for the goal ${goal}`;
	yield* insertNote(accountId, `From now on, scores of ${scored} come from ${served}.`, nowMs);
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

export function modelStore({ read, change, now }: ControlDoors) {
	return {
		/** In order of creation, without their bodies. */
		async models(accountId: number): Promise<StoredModel[]> {
			const rows = await read(
				select<
					ModelName & { active: number; created_at: number }
				>`goal, scope, version, active, created_at FROM @model WHERE account_id = ${accountId} AND body <> ${deleted} ORDER BY seq`,
			);
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
			change(function* () {
				const name = yield* insertModel(accountId, model, now());
				if (then === 'activate it') yield* activateModel(accountId, name, now());
				if (then === 'activate none') yield* activateModel(accountId, { ...name, version: null }, now());
				return name;
			}),

		/**
		 * Activates a version; `null` activates none, so that the base rate is served.
		 * @throws OperatorError where there is no such version
		 */
		activateModel: (accountId: number, name: ActiveName) =>
			change(() => activateModel(accountId, name, now())),

		/** @throws OperatorError where there is none, or it is active */
		deleteModel: (accountId: number, name: ModelName): Promise<void> =>
			change(function* () {
				const { active } = yield* selectModel(accountId, name);
				if (active === 1)
					throw new OperatorError(
						`Model ${name.version} of goal ${name.goal} is active; activate another first.`,
					);
				yield* updateModels(keyOf(accountId, name), emptied);
			}),

		/** JSON, as it was inserted. @throws OperatorError where there is none */
		modelBody: async (accountId: number, name: ModelName) => (await read(selectModel(accountId, name))).body,

		/** JSON, as it was inserted. @throws OperatorError where there is none */
		modelReport: async (accountId: number, name: ModelName) =>
			(await read(selectModel(accountId, name))).report,

		/**
		 * How its predictions compare with outcomes; undefined where none are known yet.
		 * @throws OperatorError where there is none
		 */
		async modelLevels(accountId: number, name: ModelName): Promise<ModelLevels | undefined> {
			const { levels } = await read(selectModel(accountId, name));
			return levels === null ? undefined : JSON.parse(levels);
		},

		/** Does nothing if the model was deleted meanwhile. */
		setModelLevels: (accountId: number, name: ModelName, levels: ModelLevels) =>
			change(() => updateModels(keyOf(accountId, name), { levels: JSON.stringify(levels) })),
	};
}
