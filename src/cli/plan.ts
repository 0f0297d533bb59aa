import { Option } from 'commander';
import { positiveNumber, refusing, wholeNumber } from '../config.ts';
import { standardPlan, type UsagePlan } from '../domain/usage-plan.ts';
import { plainName } from '../format/values.ts';
import { deletePlan } from '../store/deletion.ts';
import { Command } from './command.ts';
import { type CommonOptions, print } from './output.ts';

interface PlanFlags {
	readonly rate?: number;
	readonly burst?: number;
	readonly quota?: number;
	readonly timeoutMs?: number;
	readonly maxEvents?: number;
}

const planOptions = () => [
	new Option('--rate <number>', 'requests per second').argParser(positiveNumber(1_000_000)),
	new Option('--burst <number>', 'requests that can be saved up').argParser(wholeNumber(1, 1_000_000)),
	new Option('--quota <number>', 'requests per calendar month (UTC), a hard limit').argParser(
		wholeNumber(0, Number.MAX_SAFE_INTEGER),
	),
	new Option('--timeout-ms <number>', 'time that a request may take').argParser(wholeNumber(1, 100_000)),
	new Option('--max-events <number>', 'events per request').argParser(wholeNumber(1, 1000)),
];

/** Applies the flags to a plan. */
function withFlags(plan: UsagePlan, flags: PlanFlags): UsagePlan {
	return {
		name: plan.name,
		ratePerSecond: flags.rate ?? plan.ratePerSecond,
		burst: flags.burst ?? plan.burst,
		quotaPerMonth: flags.quota ?? plan.quotaPerMonth,
		timeoutMs: flags.timeoutMs ?? plan.timeoutMs,
		maxEvents: flags.maxEvents ?? plan.maxEvents,
	};
}

export function planCommand(): Command {
	const command = new Command('plan').summary('create, update, list, delete usage plans').description(
		`Manage usage plans, which hold the limits of keys. 'standard' always exists: 10 requests per second, burst 1,
1,000,000 requests per month, 5 s and 30 events per request.`,
	);
	const create = command
		.command('create')
		.summary('add a plan')
		.description("Add a plan. Limits that are left out are those of 'standard'.")
		.argument('<name>', 'name of the plan', refusing(plainName));
	const update = command
		.command('update')
		.summary('change a plan for all its keys')
		.description('Change a plan for all its keys. Limits that are left out keep their value.')
		.argument('<name>', 'name of the plan');
	for (const subcommand of [create, update]) for (const option of planOptions()) subcommand.addOption(option);
	update.requireChange();
	create.onStore(
		async (store, options: CommonOptions & PlanFlags, name: string) =>
			print(options, await store.control.createPlan(withFlags({ ...standardPlan, name }, options))),
		{ create: true },
	);
	update.onStore(async (store, options: CommonOptions & PlanFlags, name: string) =>
		print(options, await store.control.updatePlan(withFlags(await store.control.plan(name), options))),
	);
	command
		.command('list')
		.description('list plans')
		.onStore(async (store, options) => {
			const plans = await store.control.plans();
			print(options, plans, 'No plans.');
		});
	command
		.command('delete')
		.summary('delete a plan without keys')
		.description(
			`Delete a plan that no usable key is tied to. Its keys that are revoked or expired go with it, and what was counted of
their use.`,
		)
		.argument('<name>', 'name of the plan')
		.onStore(async (store, options, name: string) => {
			await deletePlan(store, name);
			print(options, { deleted: name }, `Plan ${name} is deleted.`);
		});
	return command;
}
