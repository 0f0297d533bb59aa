import type { Goal, GoalChange, GoalCounts } from '../../domain/goal.ts';
import { OperatorError } from '../../errors.ts';
import { changing, having, inserting, type Steps, select, sql } from '../steps.ts';
import { type ControlDoors, nextSeq } from './control-tables.ts';
import { deleteModels } from './model-store.ts';

interface GoalRow {
	readonly account_id: number;
	readonly name: string;
	readonly evts: string;
	readonly counts: GoalCounts;
	readonly horizon_days: number;
	readonly medium_from: number;
	readonly high_from: number;
	readonly base_rates: string | null;
}

/** In order of creation: of an account, or of all. */
export const selectGoals = (accountId?: number, name?: string) =>
	select<GoalRow>`* FROM @goal WHERE ${having({ account_id: accountId, name })} ORDER BY seq`;

export function toGoal(row: GoalRow): Goal {
	return {
		name: row.name,
		evts: JSON.parse(row.evts),
		counts: row.counts,
		horizonDays: row.horizon_days,
		mediumFrom: row.medium_from,
		highFrom: row.high_from,
	};
}

/** The base rates last counted for goals without a model, by goal name. */
export function baseRatesOf(
	rows: readonly Pick<GoalRow, 'name' | 'base_rates'>[],
): ReadonlyMap<string, readonly number[]> {
	return new Map(
		rows.flatMap(({ name, base_rates }) => (base_rates === null ? [] : [[name, JSON.parse(base_rates)]])),
	);
}

export function* insertGoal(accountId: number, goal: Goal, nowMs: number): Steps<void> {
	const { name, evts, counts, horizonDays, mediumFrom, highFrom } = goal;
	if ((yield* selectGoals(accountId, name)).length > 0)
		throw new OperatorError(
			`The account has a goal ${name} already; delete it first to change it, or update its bands.`,
		);
	yield* sql`INSERT INTO @goal ${inserting({
		account_id: accountId,
		name,
		evts: JSON.stringify(evts),
		counts,
		horizon_days: horizonDays,
		medium_from: mediumFrom,
		high_from: highFrom,
		created_at: nowMs,
		seq: yield* nextSeq('goal'),
	})}`;
}

function noSuchGoal(name: string): OperatorError {
	return new OperatorError(`The account has no goal ${name}; 'caskade goal list AID' shows all.`);
}

export function goalStore({ read, change, now }: ControlDoors) {
	return {
		/** In order of creation. */
		goals: async (accountId: number): Promise<Goal[]> => (await read(selectGoals(accountId))).map(toGoal),

		/** @throws OperatorError where the account has a goal of that name */
		createGoal: (accountId: number, goal: Goal) => change(() => insertGoal(accountId, goal, now())),

		/**
		 * Changes the bands of a goal, or what it counts. Models of what it counted before are deleted.
		 * @throws OperatorError where there is none
		 */
		updateGoal: (accountId: number, name: string, changes: GoalChange): Promise<Goal> =>
			change(function* () {
				const [row] = yield* selectGoals(accountId, name);
				if (!row) throw noSuchGoal(name);
				const changed = { ...toGoal(row), ...changes };
				const isOther = changed.counts !== row.counts;
				if (isOther) yield* deleteModels(accountId, name);
				const columns = changing({
					counts: changed.counts,
					medium_from: changed.mediumFrom,
					high_from: changed.highFrom,
					...(isOther && { base_rates: null }),
				});
				yield* sql`UPDATE @goal SET ${columns} WHERE account_id = ${accountId} AND name = ${name}`;
				return changed;
			}),

		/** Deletes a goal and its models. @throws OperatorError where there is none */
		deleteGoal: (accountId: number, name: string): Promise<void> =>
			change(function* () {
				yield* deleteModels(accountId, name);
				const [deleted] =
					yield* sql`DELETE FROM @goal WHERE account_id = ${accountId} AND name = ${name} RETURNING name`;
				if (!deleted) throw noSuchGoal(name);
			}),

		/** The base rates last counted for goals without a model, by goal name. */
		baseRates: async (accountId: number) => baseRatesOf(await read(selectGoals(accountId))),

		/** Ignores goals that were deleted meanwhile. */
		setBaseRates: (accountId: number, rates: ReadonlyMap<string, readonly number[]>): Promise<void> =>
			change(function* () {
				for (const [name, numbers] of rates)
					yield* sql`UPDATE @goal SET base_rates = ${JSON.stringify(numbers)} WHERE account_id = ${accountId} AND name = ${name}`;
			}),
	};
}
