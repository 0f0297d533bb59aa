import { Option } from 'commander';
import { duration, refusing } from '../config.ts';
import { type KeyScope, keyScopes } from '../domain/api-key.ts';
import { standardPlan } from '../domain/usage-plan.ts';
import { displayName } from '../format/values.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson, printLine, printRecord } from './output.ts';

interface IssueOptions extends CommonOptions {
	readonly client: string;
	readonly plan: string;
	readonly scope: KeyScope;
	readonly name?: string;
	readonly expiresIn?: number;
}

export function keyCommand(): Command {
	const command = new Command('key').summary('issue, list, revoke API keys').description(
		`Manage API keys. A client's back end sends one in the x-api-key header. A key is shown once, when it is issued; only
its SHA-256 is stored. To rotate a key, issue a second one, move the client to it, revoke the first.`,
	);
	command
		.command('issue')
		.summary('issue a key to a client')
		.description('Issue a key to a client. The key is printed once and cannot be shown again.')
		.requiredOption('--client <name>', 'the client')
		.option('--plan <name>', 'the usage plan that the key is tied to', standardPlan.name)
		.addOption(
			new Option('--scope <scope>', 'what it is for: to upload events, or to read reports')
				.choices(keyScopes)
				.default('upload'),
		)
		.addOption(new Option('--name <text>', 'what people call it').argParser(refusing(displayName)))
		.addOption(
			new Option('--expires-in <time>', 'from then on it is refused, as 90d (default: never)').argParser(
				duration,
			),
		)
		.onStore(async (store, options: IssueOptions) => {
			const { client, plan, scope, name, expiresIn: expiresInMs } = options;
			const issued = await store.control.issueKey(client, plan, { scope, name, expiresInMs });
			if (options.json) return printJson(issued);
			printRecord({ ...issued });
			printLine('Save the key now; it cannot be shown again. It works within a second.');
		});
	command
		.command('list')
		.summary('list keys')
		.description(
			`List keys, without their secrets. 'lastUsedAt' is recorded every five seconds, and when a server stops. A key that is
expired or revoked is refused like one that does not exist.`,
		)
		.option('--client <name>', "only this client's keys")
		.onStore(async (store, options: CommonOptions & { client?: string }) => {
			const keys = await store.control.keys(options.client);
			print(options, keys, "No keys yet. 'caskade key issue --client NAME' issues one.");
		});
	command
		.command('revoke')
		.summary('revoke a key')
		.description('Revoke a key; running servers refuse it within a second. This cannot be undone.')
		.argument('<id>', "the key's id, as 'caskade key list' shows it")
		.onStore(async (store, options, id: string) => {
			const revoked = await store.control.revokeKey(id);
			print(options, revoked);
		});
	return command;
}
