import { minuteMs } from '../../../core/durations.ts';
import { OperatorError } from '../../../core/errors.ts';
import { counted } from '../../../core/format/numbers.ts';
import { emailAddress } from '../../../core/format/values.ts';
import type { OpenStore, Store } from '../../../core/store/store.ts';
import { commandLineUser } from '../../../kit/cli/act-command.ts';
import { command, group } from '../../../kit/cli/command.ts';
import { askOnTerminal } from '../../../kit/cli/confirm.ts';
import { type CommonOptions, print, printLine, printRecord, printTable } from '../../../kit/cli/output.ts';
import { consoleUrlSetting } from '../../../kit/config.ts';
import { type Grant, type Person, type PersonRole, personRoles } from '../../../kit/person.ts';
import { linkLifetimeMs, newLoginLink } from '../access/sign-in.ts';
import type { StoredPerson } from '../store/people.ts';

const emailArgument = ['<email>', 'address of the person', emailAddress] as const;
const roleOption = ['--role <role>', 'what they may do', personRoles] as const;
const accountOption = [
	'--account <aid...>',
	'the accounts that it is for (default: all, those to come included)',
] as const;

const create = command('create', 'add a person, and print a link to sign in')
	.description('Add a person, and print a link with which they sign in once. Treat it as a secret.')
	.argument(...emailArgument)
	.required(...roleOption)
	.option(...accountOption)
	.setting(...consoleUrlSetting)
	.onStore(async (store, options, email) => {
		const consoleUrl = await consoleUrlOf(store, options);
		const person = await store.control.people.create(email, grantsOf(options));
		await note(store, 'user created', email);
		await showLink(store, person, consoleUrl, options);
	});

const list = command('list', 'list everybody, with their roles').onStore(async ({ control }, options) => {
	const people = await control.people.list();
	const sessions = Map.groupBy(await control.sessions.list(), ({ email }) => email);
	const shown = people.map(({ id: _, ...person }) => ({
		...person,
		lastUsedAt: sessions.get(person.email)?.[0]?.usedAt ?? null,
	}));
	print(options, shown, () =>
		printTable(
			shown.map((person) => ({ ...person, grants: grantsInWords(person.grants) })),
			"Nobody yet. 'caskade user create EMAIL --role admin' adds somebody.",
		),
	);
});

const link = command('link', 'print another link to sign in')
	.description(
		'Print another link with which a person signs in once, for example because they have forgotten their password. Treat it as a secret.',
	)
	.argument(...emailArgument)
	.option('--remove-second-factor', 'also sign in without it from now on, because it is lost')
	.setting(...consoleUrlSetting)
	.onStore(async (store, options, email) => {
		const consoleUrl = await consoleUrlOf(store, options);
		const person = await store.control.people.find(email);
		if (options.removeSecondFactor) {
			await store.control.people.removeSecondFactor(person.id);
			await note(store, 'second factor removed', email);
		}
		await note(store, 'link made', email);
		await showLink(store, person, consoleUrl, options);
	});

const grant = command('grant', 'give a role')
	.description(
		'Give a role, on all accounts or some. For an account that the person has a role on, it takes its place.',
	)
	.argument(...emailArgument)
	.required(...roleOption)
	.option(...accountOption)
	.onStore(async (store, options, email) => {
		const grants = grantsOf(options);
		const person = await store.control.people.grant(email, grants);
		await note(store, `role given: ${grantsInWords(grants)}`, email);
		show(options, person);
	});

const revoke = command('revoke', 'take a role away')
	.description('Take a role away: the one on all accounts, or those on some.')
	.argument(...emailArgument)
	.option('--account <aid...>', 'the accounts (default: the role on all accounts)')
	.onStore(async (store, options, email) => {
		const person = await store.control.people.revoke(email, options.account ?? [null]);
		await note(store, `role taken away on ${(options.account ?? ['all accounts']).join(', ')}`, email);
		show(options, person);
	});

const sessions = command('sessions', 'where a person is signed in')
	.description(
		"List where a person is signed in, or sign them out everywhere. 'usedAt' is recorded once an hour.",
	)
	.argument(...emailArgument)
	.option('--end', 'sign them out everywhere')
	.onStore(async (store, options, email) => {
		if (options.end) {
			const ended = await store.control.sessions.end(email);
			await note(store, 'signed out everywhere', email);
			print(options, { email, ended }, `${counted(ended, 'session')} of ${email} ended.`);
			return;
		}
		const open = (await store.control.sessions.list(email)).map(({ email: _, ...session }) => session);
		print(options, open, `${email} is not signed in.`);
	});

const remove = command('remove', 'remove a person')
	.description('Remove a person and sign them out. What they did stays in the audit log.')
	.argument(...emailArgument)
	.option('--yes', 'remove without asking')
	.onStore(async (store, options, email) => {
		const { grants } = await store.control.people.find(email);
		const roles =
			grants.map(({ aid, role }) => `${role} of ${aid ?? 'all accounts'}`).join(', ') || 'no role';
		await askOnTerminal(`${email} (${roles}) would be removed and signed out.`, email, options);
		await store.control.people.remove(email);
		await note(store, 'user removed', email);
		print(options, { removed: email }, `${email} is removed, and signed out within a second.`);
	});

export const userCommand = group(
	'user',
	'who may use the console',
	`Manage who may use the console. There is no first password: a link signs in once, within ${linkLifetimeMs / minuteMs} minutes, and
then one chooses a password.

  viewer     figures about many visitors
  analyst    also single visitors, segments and exports
  operator   also keys, goals, models, webhooks, experiments and erasure
  admin      also people, plans and all accounts

Running servers apply a change within a second.`,
	[create, list, link, grant, revoke, sessions, remove],
);

/** @throws OperatorError where an admin is given some accounts alone */
function grantsOf({ role, account }: { role: PersonRole; account?: readonly string[] }): Grant[] {
	if (account === undefined) return [{ aid: null, role }];
	if (role === 'admin')
		throw new OperatorError('An admin is one of all accounts: leave --account out, or make it an operator.');
	return account.map((aid) => ({ aid, role }));
}

/** For example: operator of c-a-acme-uk, viewer of all accounts. */
function grantsInWords(grants: readonly Grant[]): string {
	return grants.map(({ aid, role }) => `${role} of ${aid ?? 'all accounts'}`).join(', ') || '-';
}

function note(store: Store, action: string, about: string): Promise<void> {
	return store.control.audit.add({ who: commandLineUser(), action, about });
}

/** What links begin with. @throws OperatorError where only the operator can know */
async function consoleUrlOf(store: OpenStore, options: { readonly consoleUrl?: string }): Promise<string> {
	if (options.consoleUrl !== undefined) return options.consoleUrl;
	const { consoleUrls } = await store.status();
	const [known, ...others] = consoleUrls;
	if (known === undefined)
		throw new OperatorError(
			'No running server tells where its console is, and links begin with that: start the server, or give --console-url, such as http://127.0.0.1:8081.',
		);
	if (others.length > 0)
		throw new OperatorError(
			`The consoles of the running servers are at ${consoleUrls.join(', ')}: choose one with --console-url.`,
		);
	return known;
}

async function showLink(
	store: Store,
	person: Pick<Person, 'id' | 'email'>,
	consoleUrl: string,
	options: { readonly json?: boolean },
): Promise<void> {
	const made = await newLoginLink(store.control, person, consoleUrl);
	print(options, made, () => {
		printRecord(made);
		printLine(`The link signs ${person.email} in once. Treat it as a secret.`);
	});
}

function show(options: CommonOptions, { id: _, ...person }: StoredPerson): void {
	print(options, person, () => printRecord({ ...person, grants: grantsInWords(person.grants) }));
}
