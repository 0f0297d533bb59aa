import { Option } from 'commander';
import { Command } from '../config.ts';
import { type KeyScope, keyScopes } from '../domain/api-key.ts';
import { standardPlan } from '../domain/usage-plan.ts';
import { type CommonOptions, printJson, printLine, printRecord, printTable, withStore } from './output.ts';

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
		.addCommonOptions()
		.action((options: CommonOptions & { client: string; plan: string; scope: KeyScope }) =>
			withStore(options, async (store) => {
				const issued = await store.control.issueKey(options.client, options.plan, options.scope);
				if (options.json) return printJson(issued);
				printRecord({ ...issued });
				printLine('Save the key now; it cannot be shown again.');
			}),
		);
	command
		.command('list')
		.description('list keys, without their secrets')
		.addCommonOptions()
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const keys = await store.control.keys();
				if (options.json) printJson(keys);
				else printTable(keys, "No keys yet. 'caskade key issue --client NAME' issues one.");
			}),
		);
	command
		.command('revoke')
		.summary('revoke a key')
		.description('Revoke a key; running servers refuse it within a second. This cannot be undone.')
		.argument('<id>', "the key's id, as 'caskade key list' shows it")
		.addCommonOptions()
		.action((id: string, options: CommonOptions) =>
			withStore(options, async (store) => {
				const revoked = await store.control.revokeKey(id);
				if (options.json) printJson(revoked);
				else printRecord({ ...revoked });
			}),
		);
	return command;
}
