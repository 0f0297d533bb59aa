import { keyScopes } from '../../../core/domain/api-key.ts';
import { standardPlan } from '../../../core/domain/usage-plan.ts';
import { counted } from '../../../core/format/numbers.ts';
import { type IssuedKey, isUsable } from '../../../core/store/control/key-store.ts';
import { actOfAll } from '../../../kit/act.ts';
import { duration } from '../../../kit/config.ts';
import { displayName } from '../../../kit/format/values.ts';

export const issueKey = actOfAll({
	noun: 'key',
	verb: 'issue',
	summary: 'issue a key to a client',
	description: 'Issue a key to a client. The key is printed once and cannot be shown again.',
	right: 'operate',
	isOfAll: true,
	takes: {
		client: { flag: '--client <name>', text: 'the client' },
		plan: {
			flag: '--plan <name>',
			text: 'the usage plan that the key is tied to',
			usual: standardPlan.name,
		},
		scope: {
			flag: '--scope <scope>',
			text: 'what it is for: to upload events, to read reports, or to manage accounts',
			choices: keyScopes,
			usual: 'upload',
		},
		name: {
			flag: '--name <text>',
			text: 'what people call it',
			parse: displayName,
			isOptional: true,
		},
		expiresIn: {
			flag: '--expires-in <time>',
			text: 'when it expires, such as 90d (default: never)',
			parse: duration,
			label: 'Expires in',
			hint: 'Such as 90d. Empty: never.',
			isOptional: true,
		},
	},
	about: ({ id }: IssuedKey) => id,
	run: (control, _, { client, plan, scope, name, expiresIn }) =>
		control.issueKey(client, plan, { scope, name, expiresInMs: expiresIn }),
	remark: () => 'Save the key now; it cannot be shown again. It works within a second.',
});

export const revokeKey = actOfAll({
	noun: 'key',
	verb: 'revoke',
	summary: 'revoke a key',
	description: 'Revoke a key; running servers refuse it within a second. This cannot be undone.',
	right: 'operate',
	isOfAll: true,
	takes: { key: { flag: '<id>', text: "the key's id, as 'caskade key list' shows it" } },
	async warning({ store }, { key: id }) {
		const keys = (await store.control.keys()).filter((key) => isUsable(key, store.now()));
		const key = keys.find((one) => one.id === id);
		if (!key) return undefined;
		const { client, scope, lastUsedAt } = key;
		const named = key.name ?? id;
		const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`;
		const what = `The key ${named} (${id}, for ${scope}, ${used}) would be refused within a second, for good.`;
		const others = keys.filter((other) => other.client === client).length - 1;
		if (others === 0)
			return {
				what: `${what} It is the last usable key of ${client}: nobody can upload until another is issued, and every request of its back end is answered 403.`,
				named,
				name: named,
			};
		const stay = `${counted(others, 'other key')} of ${client} ${others === 1 ? 'stays' : 'stay'} usable.`;
		return { what: `${what} ${stay}`, named };
	},
	run: (control, _, { key }) => control.revokeKey(key),
});
