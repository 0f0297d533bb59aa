import { standardPlan, type UsagePlan } from '../../../core/domain/usage-plan.ts';
import { actOfAll, type GivenFields } from '../../../kit/act.ts';
import { plainName, positiveNumber, wholeNumber } from '../../../kit/format/values.ts';
import { letKeysSettle } from '../store/deletion.ts';

const ofPlans = {
	noun: 'plan',
	right: 'administer',
	isOfAll: true,
	noForm: 'plans hold for the whole installation: who runs it decides on them',
} as const;
const plan = { flag: '<name>', text: 'name of the plan' } as const;
const limit = <Flag extends string>(flag: Flag, text: string, parse: (text: string) => number) =>
	({ flag, text, parse, isOptional: true }) as const;
const limits = {
	rate: limit('--rate <number>', 'requests per second', positiveNumber(1_000_000)),
	burst: limit('--burst <number>', 'requests that can be saved up', wholeNumber(1, 1_000_000)),
	quota: limit(
		'--quota <number>',
		'requests per calendar month (UTC), a hard limit',
		wholeNumber(0, Number.MAX_SAFE_INTEGER),
	),
	timeoutMs: limit('--timeout-ms <number>', 'time that a request may take', wholeNumber(1, 100_000)),
	maxEvents: limit('--max-events <number>', 'events per request', wholeNumber(1, 1000)),
};

/** Applies flags to a plan. */
function withLimits({ name, ...plan }: UsagePlan, given: GivenFields<typeof limits>): UsagePlan {
	const { rate: ratePerSecond = plan.ratePerSecond, quota: quotaPerMonth = plan.quotaPerMonth } = given;
	const { burst = plan.burst, timeoutMs = plan.timeoutMs, maxEvents = plan.maxEvents } = given;
	return { name, ratePerSecond, burst, quotaPerMonth, timeoutMs, maxEvents };
}

export const createPlan = actOfAll({
	...ofPlans,
	verb: 'create',
	summary: 'add a plan',
	description: "Add a plan. Limits that are left out are those of 'standard'.",
	begins: true,
	takes: { plan: { ...plan, parse: plainName }, ...limits },
	run: (control, _, { plan: name, ...given }) =>
		control.createPlan(withLimits({ ...standardPlan, name }, given)),
});

export const updatePlan = actOfAll({
	...ofPlans,
	verb: 'update',
	summary: 'change a plan for all its keys',
	description: 'Change a plan for all its keys. Limits that are left out keep their value.',
	takes: { plan, ...limits },
	run: async (control, _, { plan, ...given }) =>
		control.updatePlan(withLimits(await control.plan(plan), given)),
});

export const deletePlan = actOfAll({
	...ofPlans,
	verb: 'delete',
	summary: 'delete a plan without keys',
	description: `Delete a plan that no usable key is tied to. Its revoked and expired keys go with it, and the record of
their use.`,
	takes: { plan },
	async warning({ store }, { plan }) {
		await store.control.plan(plan);
		return { what: `The plan ${plan} would be deleted, with its keys that have ended.`, name: plan };
	},
	prepare: ({ store }) => letKeysSettle(store),
	run: (control, _, { plan }) => control.deletePlan(plan),
});
