import type { Selectable } from 'kysely';
import type { Goal, GoalChange } from '../../domain/goal.ts';
import { OperatorError } from '../../errors.ts';
import { deleteModels } from './models.ts';
import { deleteRows, insertRows, nextSeq, selectRows, updateRows } from './rows.ts';
import type { ControlDatabase, ControlDoors, ControlTables } from './tables.ts';

/** Converts a row of `goal`. */
export function toGoal(row: Selectable<ControlTables['goal']>): Goal {
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
	return (await selectRows(database, 'goal', { account_id: accountId }, 'seq')).map(toGoal);
}

export async function insertGoal(
	database: ControlDatabase,
	accountId: number,
	goal: Goal,
	nowMs: number,
): Promise<void> {
	const { name, evts, counts, horizonDays, mediumFrom, highFrom } = goal;
	const [existing] = await selectRows(database, 'goal', { account_id: accountId, name });
	if (existing)
		throw new OperatorError(
			`The account has a goal ${name} already; delete it first to change it, or update its bands.`,
		);
	await insertRows(database, 'goal', {
		account_id: accountId,
		name,
		evts: JSON.stringify(evts),
		counts,
		horizon_days: horizonDays,
		medium_from: mediumFrom,
		high_from: highFrom,
		created_at: nowMs,
		seq: await nextSeq(database, 'goal'),
	});
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
				const key = { account_id: accountId, name };
				const [row] = await selectRows(transaction, 'goal', key);
				if (!row) throw noSuchGoal(name);
				const changed = { ...toGoal(row), ...changes };
				const isOther = changed.counts !== row.counts;
				if (isOther) await deleteModels(transaction, accountId, name);
				await updateRows(transaction, 'goal', key, {
					counts: changed.counts,
					medium_from: changed.mediumFrom,
					high_from: changed.highFrom,
					...(isOther && { base_rates: null }),
				});
				return changed;
			}),

		/** Deletes a goal and its models. @throws OperatorError where there is none */
		deleteGoal: (accountId: number, name: string): Promise<void> =>
			change(async (transaction) => {
				await deleteModels(transaction, accountId, name);
				const deleted = await deleteRows(transaction, 'goal', { account_id: accountId, name });
				if (deleted === 0) throw noSuchGoal(name);
			}),

		/** The base rates last counted for goals without a model, by goal name. */
		async baseRates(accountId: number): Promise<ReadonlyMap<string, readonly number[]>> {
			const rows = await selectRows(database, 'goal', { account_id: accountId });
			return new Map(
				rows.flatMap((row) => (row.base_rates === null ? [] : [[row.name, JSON.parse(row.base_rates)]])),
			);
		},

		/** Ignores goals that were deleted meanwhile. */
		setBaseRates: (accountId: number, rates: ReadonlyMap<string, readonly number[]>): Promise<void> =>
			change(async (transaction) => {
				for (const [name, numbers] of rates) {
					const base_rates = JSON.stringify(numbers);
					await updateRows(transaction, 'goal', { account_id: accountId, name }, { base_rates });
				}
			}),
	};
}
