import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import * as keys from '../acts/key-acts.ts';

const list = command('list', 'list keys')
	.description(
		`List keys, without their secrets. 'lastUsedAt' is recorded every five seconds, and when a server stops. A key that is
expired or revoked is refused like one that does not exist.`,
	)
	.option('--client <name>', "only this client's keys")
	.onStore(async (store, options) => {
		const keys = await store.control.keys(options.client);
		print(options, keys, "No keys yet. 'caskade key issue --client NAME' issues one.");
	});

export const keyCommand = nounCommand(
	'key',
	'issue, list, revoke API keys',
	`Manage API keys. A client's back end sends one in the x-api-key header. A key is shown once, when it is issued; only
its SHA-256 is stored. To rotate a key, issue a second one, move the client to it, revoke the first.`,
	keys,
	[list],
);
