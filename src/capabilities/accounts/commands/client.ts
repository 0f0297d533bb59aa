import { plainName } from '../../../core/format/values.ts';
import { command, group } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { deleteClient } from '../store/deletion.ts';

const name = ['<name>', "the client, as 'caskade client list' shows it", plainName] as const;

const list = command('list', 'list clients, with the number of their accounts and usable keys').onStore(
	async (store, options) => {
		const clients = await store.control.clients();
		print(options, clients, "No clients yet. 'caskade account create AID --client NAME' creates one.");
	},
);

const disable = command('disable', 'block a client from now on')
	.description(
		`Block a client from now on; running servers apply it within a second. Its keys get 403. Its accounts behave as if
each were disabled: hits are refused and casks are invalid. Its data stays.`,
	)
	.argument(...name)
	.onStore(async (store, options, client) =>
		print(options, await store.control.setClientDisabled(client, true)),
	);

const enable = command('enable', 'let a disabled client in again')
	.description(
		'Unblock a disabled client. Revoked keys stay revoked, and accounts that were disabled individually stay disabled.',
	)
	.argument(...name)
	.onStore(async (store, options, client) =>
		print(options, await store.control.setClientDisabled(client, false)),
	);

const remove = command('delete', 'delete a client without accounts and keys')
	.description(
		`Delete a client that has no accounts and no usable keys any more. Its keys that are revoked or expired go with it, and
what was counted of their use.`,
	)
	.argument(...name)
	.onStore(async (store, options, client) => {
		await deleteClient(store, client);
		print(options, { deleted: client }, `Client ${client} is deleted.`);
	});

export const clientCommand = group(
	'client',
	'list, disable, delete clients',
	'Manage clients. A client owns accounts and keys. It is created with its first account.',
	[list, disable, enable, remove],
);
