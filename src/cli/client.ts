import { refusing } from '../config.ts';
import { plainName } from '../format/values.ts';
import { deleteClient } from '../store/deletion.ts';
import { Command } from './command.ts';
import { print } from './output.ts';

export function clientCommand(): Command {
	const command = new Command('client')
		.summary('list, disable, delete clients')
		.description('Manage clients. A client owns accounts and keys. It is created with its first account.');
	command
		.command('list')
		.description('list clients, with the number of their accounts and usable keys')
		.onStore(async (store, options) => {
			const clients = await store.control.clients();
			print(options, clients, "No clients yet. 'caskade account create AID --client NAME' creates one.");
		});
	const setDisabled = (name: 'disable' | 'enable', summary: string, description: string) =>
		command
			.command(name)
			.summary(summary)
			.description(description)
			.argument('<name>', "the client, as 'caskade client list' shows it", refusing(plainName))
			.onStore(async (store, options, client: string) => {
				const changed = await store.control.setClientDisabled(client, name === 'disable');
				print(options, changed);
			});
	setDisabled(
		'disable',
		'block a client from now on',
		`Block a client from now on; running servers apply it within a second. Its keys get 403. Its accounts behave as if
		each were disabled: hits are refused and casks are invalid. Its data stays.`,
	);
	setDisabled(
		'enable',
		'let a disabled client in again',
		'Unblock a disabled client. Revoked keys stay revoked, and accounts that were disabled individually stay disabled.',
	);
	command
		.command('delete')
		.summary('delete a client without accounts and keys')
		.description(
			`Delete a client that has no accounts and no usable keys any more. Its keys that are revoked or expired go with it, and
what was counted of their use.`,
		)
		.argument('<name>', "the client, as 'caskade client list' shows it", refusing(plainName))
		.onStore(async (store, options, client: string) => {
			await deleteClient(store, client);
			print(options, { deleted: client }, `Client ${client} is deleted.`);
		});
	return command;
}
