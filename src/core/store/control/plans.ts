import { standardPlan, type UsagePlan } from '../../domain/usage-plan.ts';
import { OperatorError } from '../../errors.ts';
import { deleteKeys, firstOf, isUsable, selectKeys } from './keys.ts';
import { deleteRows, insertRows, selectRows, updateRows } from './rows.ts';
import type { ControlDatabase, ControlDoors, ControlTables } from './tables.ts';

/** Converts a row of `plan`. */
function toPlan(row: ControlTables['plan']): UsagePlan {
	return {
		name: row.name,
		ratePerSecond: row.rate_per_second,
		burst: row.burst,
		quotaPerMonth: row.quota_per_month,
		timeoutMs: row.timeout_ms,
		maxEvents: row.max_events,
	};
}

function columnsOf(plan: UsagePlan) {
	return {
		name: plan.name,
		rate_per_second: plan.ratePerSecond,
		burst: plan.burst,
		quota_per_month: plan.quotaPerMonth,
		timeout_ms: plan.timeoutMs,
		max_events: plan.maxEvents,
	};
}

export async function selectPlans(database: ControlDatabase): Promise<UsagePlan[]> {
	return (await selectRows(database, 'plan', {}, 'name')).map(toPlan);
}

/** @throws OperatorError where there is none */
export async function selectPlan(database: ControlDatabase, name: string): Promise<UsagePlan> {
	const plan = (await selectPlans(database)).find((candidate) => candidate.name === name);
	if (!plan) throw new OperatorError(`There is no plan ${name}; 'caskade plan list' shows all.`);
	return plan;
}

export function planStore({ database, change, now }: ControlDoors) {
	return {
		/** Ordered by name. */
		plans: () => selectPlans(database),

		/** @throws OperatorError where there is none */
		plan: (name: string) => selectPlan(database, name),

		/** @throws OperatorError where there is one of that name */
		createPlan: (plan: UsagePlan): Promise<UsagePlan> =>
			change(async (transaction) => {
				const [existing] = await selectRows(transaction, 'plan', { name: plan.name });
				if (existing)
					throw new OperatorError(`Plan ${plan.name} exists already; 'caskade plan update' changes it.`);
				await insertRows(transaction, 'plan', { ...columnsOf(plan), created_at: now() });
				return selectPlan(transaction, plan.name);
			}),

		/** Changes a plan for all keys that are tied to it. @throws OperatorError where there is none */
		updatePlan: (plan: UsagePlan): Promise<UsagePlan> =>
			change(async (transaction) => {
				await updateRows(transaction, 'plan', { name: plan.name }, columnsOf(plan));
				return selectPlan(transaction, plan.name);
			}),

		/**
		 * Deletes a plan with its keys that are revoked or expired.
		 * @throws OperatorError where there is none, it is the standard one, or it has usable keys
		 */
		deletePlan: (name: string): Promise<void> =>
			change(async (transaction) => {
				await selectPlan(transaction, name);
				if (name === standardPlan.name)
					throw new OperatorError(`The plan ${name} always exists; it cannot be deleted.`);
				const keys = await selectKeys(transaction, { plan: name });
				const usable = keys.filter((key) => isUsable(key, now()));
				if (usable.length > 0)
					throw new OperatorError(
						`Plan ${name} still has keys (${firstOf(usable.map(({ id }) => id))}); end them first with 'caskade key revoke ID'.`,
					);
				await deleteKeys(transaction, keys);
				await deleteRows(transaction, 'plan', { name });
			}),
	};
}
