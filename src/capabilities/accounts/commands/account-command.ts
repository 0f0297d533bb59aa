import { OperatorError } from '../../../core/errors.ts';
import { countVisitors } from '../../../core/store/account/reading/visitors.ts';
import { checkOwnDatabase } from '../../../core/store/own-database.ts';
import type { Store } from '../../../core/store/store.ts';
import { runAct } from '../../../kit/act.ts';
import { commandLineUser, nounCommand, runCommand, withFields } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { confirm, requireTerminal } from '../../../kit/cli/confirm.ts';
import { print, printTable, withStore } from '../../../kit/cli/output.ts';
import { historyExtent } from '../../../kit/reading/histories.ts';
import * as accounts from '../acts/account-acts.ts';
import {
	createAccount,
	deleteAccount,
	firstSettingFields,
	namedAccount,
	readableAccount,
	rotateIdentitySecret,
	showIdentitySecret,
} from '../acts/account-acts.ts';

const { aid, client, ownDatabase } = createAccount.takes;

const create = withFields(
	command('create', createAccount.summary)
		.description(
			`Add an account. The client is created if it does not exist. Both names have 1 to 64 letters, digits, dots,
underscores and hyphens, and begin with a letter or a digit.`,
		)
		.argument(aid.flag, aid.text, aid.parse)
		.required(client.flag, client.text, client.parse)
		// No parser, because the error would repeat a password.
		.setting(ownDatabase.flag, ownDatabase.text),
	firstSettingFields,
)
	.common()
	.action(async (flags, _, ...args) => {
		// Before the store is opened, which may create it.
		if (flags.ownDatabase) checkOwnDatabase(flags.ownDatabase);
		await withStore(flags, (store) => runCommand(createAccount, store, undefined, { flags, args }), {
			create: true,
		});
	});

const list = command('list', 'list accounts').onStore(async (store, options) => {
	const accounts = (await store.control.accounts()).map(namedAccount);
	print(options, accounts, () =>
		printTable(
			accounts.map(readableAccount),
			"No accounts yet. 'caskade account create AID --client NAME' creates one.",
		),
	);
});

const identitySecret = command('identity-secret', 'show or replace the secret that signs ids')
	.description(
		`Show the secret with which your back end signs the customer and transaction ids that pages show; it is made when it is
first shown. Whoever has it can be any customer: keep it on a server. With --rotate there is a new one, and ids that are
signed with the previous one are believed for another 24 hours. If it has leaked, rotate twice. What it is for:
docs/how-to/trust.md.`,
	)
	.option('--rotate', 'make another one')
	.onAccount(async (store, account, options) => {
		const of = options.rotate ? rotateIdentitySecret : showIdentitySecret;
		const shown = await runAct(of, commandLineUser(), { store, account }, {});
		print(options, shown, shown.identitySecret);
	});

const remove = command('delete', 'delete an account with all its data')
	.description(
		`Delete an account, its database and everything that is kept about it: events, visitors, goals, models, segments,
webhooks. It cannot be undone: the command says what there is, and asks for the account's name, unless --yes has it. Servers
may run; they refuse requests for the account first, which takes three seconds. Its client and its keys stay. Earlier
backups still contain the data.`,
	)
	.option('--yes <aid>', 'delete without asking; the name of the account again')
	.onAccount(async (store, account, options) => {
		const { id, aid } = account;
		const { yes } = options;
		if (yes !== undefined && yes !== aid)
			throw new OperatorError(`--yes names ${yes}, but the account to delete is ${aid}.`);
		if (yes === undefined) requireTerminal(`--yes ${aid}`);
		const counts = await countsOf(store, id);
		const what = counts
			? Object.entries(counts)
					.map((pair) => pair.join(' '))
					.join(', ')
			: 'a database that cannot be read';
		if (yes === undefined) await confirm(`${aid} would be deleted, with: ${what}. It cannot be undone.`, aid);
		await runAct(deleteAccount, commandLineUser(), { store, account }, {});
		print(
			options,
			{ deleted: aid, ...counts },
			`Account ${aid} is deleted, with: ${what}. Backups and dumps from before still contain it: delete them, or keep them safe.`,
		);
	});

/** @returns undefined where the database is lost or damaged, which must not keep the account from being deleted */
async function countsOf(store: Store, accountId: number) {
	try {
		const { uploads: events, hits } = await store.read(accountId, historyExtent(Number.MAX_SAFE_INTEGER));
		return { events, hits, visitors: await store.read(accountId, countVisitors()) };
	} catch (error) {
		if (error instanceof OperatorError) throw error;
		return undefined;
	}
}

export const accountCommand = nounCommand(
	'account',
	'create, update, list, disable, delete accounts',
	"Manage accounts. Clients upload to accounts. Each has its own database, which other clients' keys cannot reach.",
	accounts,
	[create, list, identitySecret, remove],
);
