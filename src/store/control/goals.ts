import type { Goal, GoalChange } from '../../domain/goal.ts';
import { OperatorError } from '../../errors.ts';
import { deleteModels } from './models.ts';
import { type ControlDatabase, type ControlDoors, type ControlTables, nextSeq } from './tables.ts';

/** Converts a row of `goal`. */
export function toGoal(row: Omit<ControlTables['goal'], 'base_rates'>): Goal {
	return {
		name: row.name,
		evts: JSON.parse(row.evts),
		counts: row.counts,
		horizonDays: row.horizon_days,
		mediumFrom: row.medium_from,
		highFrom: row.high_from,
	};
}

async function selectGoals(database: ControlDatabase, accountId: number): Promise<Goal[]> {
	const rows = await database
		.selectFrom('goal')
		.selectAll()
		.where('account_id', '=', accountId)
		.orderBy('seq')
		.execute();
	return rows.map(toGoal);
}

export async function insertGoal(
	database: ControlDatabase,
	accountId: number,
	goal: Goal,
	nowMs: number,
): Promise<void> {
	const { numInsertedOrUpdatedRows } = await database
		.insertInto('goal')
		.values({
			account_id: accountId,
			name: goal.name,
			evts: JSON.stringify(goal.evts),
			counts: goal.counts,
			horizon_days: goal.horizonDays,
			medium_from: goal.mediumFrom,
			high_from: goal.highFrom,
			created_at: nowMs,
			seq: await nextSeq(database, 'goal'),
		})
		.onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
		.executeTakeFirstOrThrow();
	if (numInsertedOrUpdatedRows !== 1n)
		throw new OperatorError(
			`The account has a goal ${goal.name} already; delete it first to change it, or update its bands.`,
		);
}

function noSuchGoal(name: string): OperatorError {
	return new OperatorError(`The account has no goal ${name}; 'caskade goal list AID' shows all.`);
}

export function goalStore({ database, change, now }: ControlDoors) {
	return {
		/** In order of creation. */
		goals: (accountId: number) => selectGoals(database, accountId),

		/** @throws OperatorError where the account has a goal of that name */
		createGoal: (accountId: number, goal: Goal) =>
			change((transaction) => insertGoal(transaction, accountId, goal, now())),

		/**
		 * Changes the bands of a goal, or what it counts. Models of what it counted before are deleted.
		 * @throws OperatorError where there is none
		 */
		updateGoal: (accountId: number, name: string, changes: GoalChange): Promise<Goal> =>
			change(async (transaction) => {
				const goal = (await selectGoals(transaction, accountId)).find((one) => one.name === name);
				if (!goal) throw noSuchGoal(name);
				const changed = { ...goal, ...changes };
				const isOther = changed.counts !== goal.counts;
				if (isOther) await deleteModels(transaction, accountId, name);
				await transaction
					.updateTable('goal')
					.set({
						counts: changed.counts,
						medium_from: changed.mediumFrom,
						high_from: changed.highFrom,
						...(isOther && { base_rates: null }),
					})
					.where(({ and }) => and({ account_id: accountId, name }))
					.execute();
				return changed;
			}),

		/** Deletes a goal and its models. @throws OperatorError where there is none */
		deleteGoal: (accountId: number, name: string): Promise<void> =>
			change(async (transaction) => {
				await deleteModels(transaction, accountId, name);
				const { numDeletedRows } = await transaction
					.deleteFrom('goal')
					.where(({ and }) => and({ account_id: accountId, name }))
					.executeTakeFirstOrThrow();
				if (numDeletedRows !== 1n) throw noSuchGoal(name);
			}),

		/** The base rates last counted for goals without a model, by goal name. */
		async baseRates(accountId: number): Promise<ReadonlyMap<string, readonly number[]>> {
			const rows = await database
				.selectFrom('goal')
				.select(['name', 'base_rates'])
				.where('account_id', '=', accountId)
				.execute();
			return new Map(
				rows.flatMap((row) => (row.base_rates === null ? [] : [[row.name, JSON.parse(row.base_rates)]])),
			);
		},

		/** Ignores goals that were deleted meanwhile. */
		setBaseRates: (accountId: number, rates: ReadonlyMap<string, readonly number[]>): Promise<void> =>
			change(async (transaction) => {
				for (const [name, numbers] of rates)
					await transaction
						.updateTable('goal')
						.set({ base_rates: JSON.stringify(numbers) })
						.where(({ and }) => and({ account_id: accountId, name }))
						.execute();
			}),
	};
}
