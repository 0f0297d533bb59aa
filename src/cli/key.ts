import { duration } from '../config.ts';
import { keyScopes } from '../domain/api-key.ts';
import { standardPlan } from '../domain/usage-plan.ts';
import { displayName } from '../format/values.ts';
import { isUsable } from '../store/control/control-store.ts';
import { command, group } from './command.ts';
import { askOnTerminal } from './confirm.ts';
import { print, printLine, printRecord } from './output.ts';

const issue = command('issue', 'issue a key to a client')
	.description('Issue a key to a client. The key is printed once and cannot be shown again.')
	.required('--client <name>', 'the client')
	.option('--plan <name>', 'the usage plan that the key is tied to', undefined, standardPlan.name)
	.option('--scope <scope>', 'what it is for: to upload events, or to read reports', keyScopes, 'upload')
	.option('--name <text>', 'what people call it', displayName)
	.option('--expires-in <time>', 'from then on it is refused, as 90d (default: never)', duration)
	.onStore(async (store, options) => {
		const { client, plan, scope, name, expiresIn: expiresInMs } = options;
		const issued = await store.control.issueKey(client, plan, { scope, name, expiresInMs });
		print(options, issued, () => {
			printRecord({ ...issued });
			printLine('Save the key now; it cannot be shown again. It works within a second.');
		});
	});

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

const revoke = command('revoke', 'revoke a key')
	.description('Revoke a key; running servers refuse it within a second. This cannot be undone.')
	.argument('<id>', "the key's id, as 'caskade key list' shows it")
	.option('--yes', 'revoke without asking')
	.onStore(async (store, options, id) => {
		const keys = await store.control.keys();
		const key = keys.find((one) => one.id === id);
		if (key && isUsable(key, store.now())) {
			const { client, name, lastUsedAt } = key;
			const isLast = !keys.some(
				(other) => other.client === client && other.id !== id && isUsable(other, store.now()),
			);
			const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`;
			const left = isLast ? ` It is the last usable key of ${client}, so nobody can upload then.` : '';
			await askOnTerminal(
				`The key ${name ?? id} of ${client} (${used}) would be refused.${left}`,
				isLast ? (name ?? id) : 'yes',
				options,
			);
		}
		print(options, await store.control.revokeKey(id));
	});

export const keyCommand = group(
	'key',
	'issue, list, revoke API keys',
	`Manage API keys. A client's back end sends one in the x-api-key header. A key is shown once, when it is issued; only
its SHA-256 is stored. To rotate a key, issue a second one, move the client to it, revoke the first.`,
	[issue, list, revoke],
);
