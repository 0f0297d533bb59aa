import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import * as clients from '../acts/client-acts.ts';

const list = command('list', 'list clients, with the number of their accounts and usable keys').onStore(
	async (store, options) => {
		const clients = await store.control.clients();
		print(options, clients, "No clients yet. 'caskade account create AID --client NAME' creates one.");
	},
);

export const clientCommand = nounCommand(
	'client',
	'list, disable, delete clients',
	'Manage clients. A client owns accounts and keys. It is created with its first account.',
	clients,
	[list],
);
