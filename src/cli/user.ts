import { Argument, Option } from 'commander';
import { linkLifetimeMs, newLoginLink } from '../access/sign-in.ts';
import { consoleUrlOption, defaultConsoleUrl, refusing } from '../config.ts';
import { type Grant, type Person, type PersonRole, personRoles } from '../domain/person.ts';
import { minuteMs } from '../durations.ts';
import { OperatorError } from '../errors.ts';
import { counted } from '../format/numbers.ts';
import { emailAddress } from '../format/values.ts';
import type { StoredPerson } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson, printLine, printRecord, printTable } from './output.ts';

/** Whoever may run commands on the data is not known by name. */
export const commandLine = 'command line';

interface GrantOptions extends CommonOptions {
	readonly role: PersonRole;
	readonly account?: readonly string[];
}

interface LinkOptions extends CommonOptions {
	readonly consoleUrl?: string;
}

const emailArgument = () =>
	new Argument('<email>', 'address of the person').argParser(refusing(emailAddress));
const roleOption = () =>
	new Option('--role <role>', 'what they may do').choices(personRoles).makeOptionMandatory();
const accountOption = () =>
	new Option('--account <aid...>', 'the accounts that it is for (default: all, those to come included)');

export function userCommand(): Command {
	const command = new Command('user').summary('who may use the console').description(
		`Manage who may use the console. There is no first password: a link signs in once, within ${linkLifetimeMs / minuteMs} minutes, and
then one chooses a password.

  viewer     figures about many visitors
  analyst    also single visitors, segments and exports
  operator   also keys, goals, models, webhooks and erasure
  admin      also people, plans and all accounts

Running servers apply a change within a second.`,
	);
	createCommand(command);
	listCommand(command);
	linkCommand(command);
	grantCommand(command);
	revokeCommand(command);
	sessionsCommand(command);
	removeCommand(command);
	return command;
}

function createCommand(command: Command): void {
	command
		.command('create')
		.summary('add a person, and print a link to sign in')
		.description('Add a person, and print a link with which they sign in once. Treat it as a secret.')
		.addArgument(emailArgument())
		.addOption(roleOption())
		.addOption(accountOption())
		.addOption(consoleUrlOption())
		.onStore(async (store, options: GrantOptions & LinkOptions, email: string) => {
			const person = await store.control.people.create(email, grantsOf(options));
			await note(store, 'user created', email);
			await showLink(store, person, options);
		});
}

function listCommand(command: Command): void {
	command
		.command('list')
		.description('list everybody, with their roles')
		.onStore(async ({ control }, options) => {
			const people = await control.people.list();
			const sessions = Map.groupBy(await control.sessions.list(), ({ email }) => email);
			const shown = people.map(({ id: _, ...person }) => ({
				...person,
				lastUsedAt: sessions.get(person.email)?.[0]?.usedAt ?? null,
			}));
			if (options.json) return printJson(shown);
			printTable(
				shown.map((person) => ({ ...person, grants: grantsInWords(person.grants) })),
				"Nobody yet. 'caskade user create EMAIL --role admin' adds somebody.",
			);
		});
}

function linkCommand(command: Command): void {
	command
		.command('link')
		.summary('print another link to sign in')
		.description(
			'Print another link with which a person signs in once, for example because they have forgotten their password. Treat it as a secret.',
		)
		.addArgument(emailArgument())
		.option('--remove-second-factor', 'also sign in without it from now on, because it is lost')
		.addOption(consoleUrlOption())
		.onStore(async (store, options: LinkOptions & { removeSecondFactor?: boolean }, email: string) => {
			const person = await store.control.people.find(email);
			if (options.removeSecondFactor) {
				await store.control.people.removeSecondFactor(person.id);
				await note(store, 'second factor removed', email);
			}
			await note(store, 'link made', email);
			await showLink(store, person, options);
		});
}

function grantCommand(command: Command): void {
	command
		.command('grant')
		.summary('give a role')
		.description(
			'Give a role, on all accounts or some. For an account that the person has a role on, it takes its place.',
		)
		.addArgument(emailArgument())
		.addOption(roleOption())
		.addOption(accountOption())
		.onStore(async (store, options: GrantOptions, email: string) => {
			const grants = grantsOf(options);
			const person = await store.control.people.grant(email, grants);
			await note(store, `role given: ${grantsInWords(grants)}`, email);
			show(options, person);
		});
}

function revokeCommand(command: Command): void {
	command
		.command('revoke')
		.summary('take a role away')
		.description('Take a role away: the one on all accounts, or those on some.')
		.addArgument(emailArgument())
		.addOption(new Option('--account <aid...>', 'the accounts (default: the role on all accounts)'))
		.onStore(async (store, options: CommonOptions & { account?: readonly string[] }, email: string) => {
			const person = await store.control.people.revoke(email, options.account ?? [null]);
			await note(store, `role taken away on ${(options.account ?? ['all accounts']).join(', ')}`, email);
			show(options, person);
		});
}

function sessionsCommand(command: Command): void {
	command
		.command('sessions')
		.summary('where a person is signed in')
		.description(
			"List where a person is signed in, or sign them out everywhere. 'usedAt' is recorded once an hour.",
		)
		.addArgument(emailArgument())
		.option('--end', 'sign them out everywhere')
		.onStore(async (store, options: CommonOptions & { end?: boolean }, email: string) => {
			if (options.end) {
				const ended = await store.control.sessions.end(email);
				await note(store, 'signed out everywhere', email);
				print(options, { email, ended }, `${counted(ended, 'session')} of ${email} ended.`);
				return;
			}
			const sessions = (await store.control.sessions.list(email)).map(({ email: _, ...session }) => session);
			print(options, sessions, `${email} is not signed in.`);
		});
}

function removeCommand(command: Command): void {
	command
		.command('remove')
		.summary('remove a person')
		.description('Remove a person and sign them out. What they did stays in the audit log.')
		.addArgument(emailArgument())
		.onStore(async (store, options, email: string) => {
			await store.control.people.remove(email);
			await note(store, 'user removed', email);
			print(options, { removed: email }, `${email} is removed, and signed out within a second.`);
		});
}

/** @throws OperatorError where an admin is given some accounts alone */
function grantsOf({ role, account }: GrantOptions): Grant[] {
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
	return store.control.audit.add({ who: commandLine, action, about });
}

async function showLink(
	store: Store,
	person: Pick<Person, 'id' | 'email'>,
	{ json, consoleUrl = defaultConsoleUrl }: LinkOptions,
): Promise<void> {
	const made = await newLoginLink(store.control, person, consoleUrl);
	if (json) return printJson(made);
	printRecord(made);
	printLine(`The link signs ${person.email} in once. Treat it as a secret.`);
}

function show({ json }: CommonOptions, { id: _, ...person }: StoredPerson): void {
	if (json) printJson(person);
	else printRecord({ ...person, grants: grantsInWords(person.grants) });
}
