import { standardPlan, type UsagePlan } from '../domain/usage-plan.ts';
import { plainName, positiveNumber, wholeNumber } from '../format/values.ts';
import { deletePlan } from '../store/deletion.ts';
import { command, type Declaration, group } from './command.ts';
import { askOnTerminal } from './confirm.ts';
import { print } from './output.ts';

function withLimits<Options, Given extends readonly unknown[]>(declared: Declaration<Options, Given>) {
	return declared
		.option('--rate <number>', 'requests per second', positiveNumber(1_000_000))
		.option('--burst <number>', 'requests that can be saved up', wholeNumber(1, 1_000_000))
		.option(
			'--quota <number>',
			'requests per calendar month (UTC), a hard limit',
			wholeNumber(0, Number.MAX_SAFE_INTEGER),
		)
		.option('--timeout-ms <number>', 'time that a request may take', wholeNumber(1, 100_000))
		.option('--max-events <number>', 'events per request', wholeNumber(1, 1000));
}

/** Applies flags to a plan. */
function withFlags(
	{ name, ...plan }: UsagePlan,
	flags: Partial<Record<'rate' | 'burst' | 'quota' | 'timeoutMs' | 'maxEvents', number>>,
): UsagePlan {
	const { rate: ratePerSecond = plan.ratePerSecond, quota: quotaPerMonth = plan.quotaPerMonth } = flags;
	const { burst = plan.burst, timeoutMs = plan.timeoutMs, maxEvents = plan.maxEvents } = flags;
	return { name, ratePerSecond, burst, quotaPerMonth, timeoutMs, maxEvents };
}

const create = withLimits(
	command('create', 'add a plan')
		.description("Add a plan. Limits that are left out are those of 'standard'.")
		.argument('<name>', 'name of the plan', plainName),
).onStore(
	async (store, options, name) =>
		print(options, await store.control.createPlan(withFlags({ ...standardPlan, name }, options))),
	{ create: true },
);

const update = withLimits(
	command('update', 'change a plan for all its keys')
		.description('Change a plan for all its keys. Limits that are left out keep their value.')
		.argument('<name>', 'name of the plan'),
)
	.requireChange()
	.onStore(async (store, options, name) =>
		print(options, await store.control.updatePlan(withFlags(await store.control.plan(name), options))),
	);

const list = command('list', 'list plans').onStore(async (store, options) =>
	print(options, await store.control.plans(), 'No plans.'),
);

const remove = command('delete', 'delete a plan without keys')
	.description(
		`Delete a plan that no usable key is tied to. Its keys that are revoked or expired go with it, and what was counted of
their use.`,
	)
	.argument('<name>', 'name of the plan')
	.option('--yes', 'delete without asking')
	.onStore(async (store, options, name) => {
		await store.control.plan(name);
		await askOnTerminal(`The plan ${name} would be deleted, with its keys that have ended.`, name, options);
		await deletePlan(store, name);
		print(options, { deleted: name }, `Plan ${name} is deleted.`);
	});

export const planCommand = group(
	'plan',
	'create, update, list, delete usage plans',
	`Manage usage plans, which hold the limits of keys. 'standard' always exists: 10 requests per second, burst 1,
1,000,000 requests per month, 5 s and 30 events per request.`,
	[create, update, list, remove],
);
