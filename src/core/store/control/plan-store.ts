import { standardPlan, type UsagePlan } from '../../domain/usage-plan.ts';
import { OperatorError } from '../../errors.ts';
import { changing, having, inserting, type Reading, select, sql } from '../steps.ts';
import type { ControlDoors } from './control-tables.ts';
import { deleteKeys, firstOf, isUsable, selectKeys } from './key-store.ts';

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

/** Ordered by name: all, or the one of a name. */
export function* selectPlans(name?: string): Reading<UsagePlan[]> {
	const rows =
		yield* select<UsagePlan>`name, rate_per_second AS "ratePerSecond", burst, quota_per_month AS "quotaPerMonth", timeout_ms AS "timeoutMs", max_events AS "maxEvents" FROM @plan WHERE ${having({ name })} ORDER BY name`;
	return rows.map((row) => ({ ...row }));
}

/** @throws OperatorError where there is none */
export function* selectPlan(name: string): Reading<UsagePlan> {
	const [plan] = yield* selectPlans(name);
	if (!plan) throw new OperatorError(`There is no plan ${name}; 'caskade plan list' shows all.`);
	return plan;
}

export function planStore({ read, change, now }: ControlDoors) {
	return {
		/** Ordered by name. */
		plans: () => read(selectPlans()),

		/** @throws OperatorError where there is none */
		plan: (name: string) => read(selectPlan(name)),

		/** @throws OperatorError where there is one of that name */
		createPlan: (plan: UsagePlan): Promise<UsagePlan> =>
			change(function* () {
				if ((yield* selectPlans(plan.name)).length > 0)
					throw new OperatorError(`Plan ${plan.name} exists already; 'caskade plan update' changes it.`);
				yield* sql`INSERT INTO @plan ${inserting({ ...columnsOf(plan), created_at: now() })}`;
				return yield* selectPlan(plan.name);
			}),

		/** Changes a plan for all keys that are tied to it. @throws OperatorError where there is none */
		updatePlan: (plan: UsagePlan): Promise<UsagePlan> =>
			change(function* () {
				yield* sql`UPDATE @plan SET ${changing(columnsOf(plan))} WHERE name = ${plan.name}`;
				return yield* selectPlan(plan.name);
			}),

		/**
		 * Deletes a plan with its keys that are revoked or expired.
		 * @throws OperatorError where there is none, it is the standard one, or it has usable keys
		 */
		deletePlan: (name: string): Promise<void> =>
			change(function* () {
				yield* selectPlan(name);
				if (name === standardPlan.name)
					throw new OperatorError(`The plan ${name} always exists; it cannot be deleted.`);
				const keys = yield* selectKeys({ plan: name });
				const usable = keys.filter((key) => isUsable(key, now()));
				if (usable.length > 0)
					throw new OperatorError(
						`Plan ${name} still has keys (${firstOf(usable.map(({ id }) => id))}); end them first with 'caskade key revoke ID'.`,
					);
				yield* deleteKeys(keys);
				yield* sql`DELETE FROM @plan WHERE name = ${name}`;
			}),
	};
}
