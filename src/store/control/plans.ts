import type { UsagePlan } from '../../domain/usage-plan.ts';
import { OperatorError } from '../../errors.ts';
import type { ControlDatabase, ControlTables } from './tables.ts';

/** Converts a row of `plan`. */
export function toPlan(row: ControlTables['plan']): UsagePlan {
	return {
		name: row.name,
		ratePerSecond: row.rate_per_second,
		burst: row.burst,
		quotaPerMonth: row.quota_per_month,
		timeoutMs: row.timeout_ms,
		maxEvents: row.max_events,
	};
}

function fromPlan(plan: UsagePlan): Omit<ControlTables['plan'], 'created_at'> {
	return {
		name: plan.name,
		rate_per_second: plan.ratePerSecond,
		burst: plan.burst,
		quota_per_month: plan.quotaPerMonth,
		timeout_ms: plan.timeoutMs,
		max_events: plan.maxEvents,
	};
}

/** Ordered by name. */
export async function selectPlans(database: ControlDatabase): Promise<UsagePlan[]> {
	return (await database.selectFrom('plan').selectAll().orderBy('name').execute()).map(toPlan);
}

/** @throws OperatorError where there is none */
export async function selectPlan(database: ControlDatabase, name: string): Promise<UsagePlan> {
	const plan = (await selectPlans(database)).find((candidate) => candidate.name === name);
	if (!plan) throw new OperatorError(`There is no plan ${name}; 'caskade plan list' shows all.`);
	return plan;
}

/** @throws OperatorError where there is one of that name */
export async function insertPlan(database: ControlDatabase, plan: UsagePlan, nowMs: number): Promise<void> {
	const { numInsertedOrUpdatedRows } = await database
		.insertInto('plan')
		.values({ ...fromPlan(plan), created_at: nowMs })
		.onConflict((conflict) => conflict.column('name').doNothing())
		.executeTakeFirstOrThrow();
	if (numInsertedOrUpdatedRows !== 1n)
		throw new OperatorError(`Plan ${plan.name} exists already; 'caskade plan update' changes it.`);
}

/** Changes a plan for all its keys. */
export async function updatePlan(database: ControlDatabase, plan: UsagePlan): Promise<void> {
	await selectPlan(database, plan.name);
	await database.updateTable('plan').set(fromPlan(plan)).where('name', '=', plan.name).execute();
}
