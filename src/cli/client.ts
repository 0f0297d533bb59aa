import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import { plainName } from './account.ts';
import { type CommonOptions, printJson, printRecord, printTable, withStore } from './output.ts';

export function clientCommand(): Command {
	const command = new Command('client')
		.summary('list, disable clients')
		.description(
			'Clients: who owns accounts and keys. One is made with its first account. A client that is disabled is shut out.',
		);
	command
		.command('list')
		.description('list clients, with the number of their accounts and usable keys')
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const clients = await store.control.clients();
				if (options.json) printJson(clients);
				else printTable(clients, "No clients yet; 'caskade account create AID --client NAME' makes one.");
			}),
		);
	const setDisabled = (name: 'disable' | 'enable', summary: string, description: string) =>
		command
			.command(name)
			.summary(summary)
			.description(description)
			.argument('<name>', "the client, as 'caskade client list' shows it", plainName)
			.addOption(databaseOption())
			.addOption(stageOption())
			.addOption(jsonOption())
			.action((client: string, options: CommonOptions) =>
				withStore(options, async (store) => {
					const changed = await store.control.setClientDisabled(client, name === 'disable');
					if (options.json) printJson(changed);
					else printRecord({ ...changed });
				}),
			);
	setDisabled(
		'disable',
		'shut a client out from now on',
		`Shut a client out from now on, within a second on running servers: each of its keys gets 403, and its accounts
are as if each were disabled, so no hit is taken and no cask opens anything. Its data stays.`,
	);
	setDisabled(
		'enable',
		'let a disabled client in again',
		'Let a disabled client in again. Keys that were revoked and accounts that were disabled by themselves stay so.',
	);
	return command;
}
