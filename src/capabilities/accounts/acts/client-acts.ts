import { actOfAll } from '../../../kit/act.ts';
import { letKeysSettle } from '../store/deletion.ts';

const ofClients = {
	noun: 'client',
	right: 'administer',
	isOfAll: true,
	takes: { client: { flag: '<name>', text: "the client, as 'caskade client list' shows it" } },
} as const;

export const disableClient = actOfAll({
	...ofClients,
	verb: 'disable',
	summary: 'block a client from now on',
	description: `Block a client from now on; running servers apply it within a second. Its keys get 403. Its accounts behave as if
each were disabled: hits are refused and casks are invalid. Its data stays.`,
	run: (control, _, { client }) => control.setClientDisabled(client, true),
});

export const enableClient = actOfAll({
	...ofClients,
	verb: 'enable',
	summary: 'unblock a disabled client',
	description:
		'Unblock a disabled client. Revoked keys stay revoked, and accounts that were disabled individually stay disabled.',
	run: (control, _, { client }) => control.setClientDisabled(client, false),
});

export const deleteClient = actOfAll({
	...ofClients,
	verb: 'delete',
	summary: 'delete a client that has no accounts and no usable keys',
	description: `Delete a client that has no accounts and no usable keys any more. Its revoked and expired keys go with it,
and the record of their use.`,
	prepare: ({ store }) => letKeysSettle(store),
	run: (control, _, { client }) => control.deleteClient(client),
});
