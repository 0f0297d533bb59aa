import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import { type CommonOptions, printJson, printTable, withStore } from './output.ts';

export function usageCommand(): Command {
	return new Command('usage')
		.summary("show how much of each key's monthly quota is used")
		.description(
			`Show each key's use of this month's quota: the requests admitted, whatever their answer, simulated ones
included. A running server tells what it has admitted five times a second. What a crashed server had leased is
forfeited, at most 99 requests of a key: nobody may use it any more, and what was used of it is not known.
On PostgreSQL a server counts as crashed when it has not shown itself for ten seconds.`,
		)
		.option('--client <name>', "only this client's keys")
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions & { client?: string }) =>
			withStore(options, async (store) => {
				const usage = await store.control.usage(options.client);
				if (options.json) printJson(usage);
				else printTable(usage, "No keys yet; 'caskade key issue --client NAME' makes one.");
			}),
		);
}
