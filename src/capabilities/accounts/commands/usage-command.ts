import { command } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';

export const usageCommand = command('usage', "show how much of each key's monthly quota is used")
	.description(
		`Show each key's use of this month's quota: all requests admitted, whatever their answer, simulated ones included.
A running server reports its usage five times a second. The lease of a crashed server, at most 99 requests per key, is
forfeited, because nobody knows how much of it was used. On PostgreSQL a server counts as crashed after ten seconds
without a heartbeat.`,
	)
	.option('--client <name>', "only this client's keys")
	.onStore(async (store, options) => {
		const usages = await store.control.usage(options.client);
		print(options, usages, "No keys yet. 'caskade key issue --client NAME' issues one.");
	});
