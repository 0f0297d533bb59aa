import { OperatorError } from '../../../core/errors.ts';
import type { ControlStore } from '../../../core/store/control/control-store.ts';
import { type ActPlace, actOfAll } from '../../../kit/act.ts';
import { consoleUrlSetting } from '../../../kit/config.ts';
import { emailAddress } from '../../../kit/format/values.ts';
import { type Grant, personRoles } from '../../../kit/person.ts';
import { newLoginLink } from '../access/sign-in.ts';
import type { StoredPerson } from '../store/people-store.ts';

const email = {
	flag: '<email>',
	text: 'address of the person',
	parse: emailAddress,
	label: 'Email address',
} as const;
const grantFields = {
	role: { flag: '--role <role>', text: 'what they may do', choices: personRoles },
	account: {
		flag: '--account <aid...>',
		text: 'the accounts that it is for (default: all, including future ones)',
		isOptional: true,
		label: 'Accounts',
		hint: 'one on each line; empty for all, including future ones',
	},
} as const;
const [flag, text, parse] = consoleUrlSetting;
const consoleUrl = { flag, text, parse, isOptional: true, isSetting: true } as const;

/** What links begin with. @throws OperatorError where only the operator can know */
async function consoleUrlOf(
	{ store }: ActPlace<undefined>,
	given: { consoleUrl?: string | undefined },
): Promise<string> {
	if (given.consoleUrl !== undefined) return given.consoleUrl;
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

/** @throws OperatorError where an admin is given some accounts alone */
function grantsOf(given: {
	role: (typeof personRoles)[number];
	account?: readonly string[] | undefined;
}): Grant[] {
	const { role, account } = given;
	if (account === undefined) return [{ aid: null, role }];
	if (role === 'admin')
		throw new OperatorError('An admin is one of all accounts: leave --account out, or make it an operator.');
	return account.map((aid) => ({ aid, role }));
}

/** For example: operator of c-a-acme-uk, viewer of all accounts. */
export function grantsInWords(grants: readonly Grant[]): string {
	return grants.map(({ aid, role }) => `${role} of ${aid ?? 'all accounts'}`).join(', ');
}

/** A person as commands know them: their number is for the store alone. */
function namedPerson({ id: _, ...person }: StoredPerson) {
	return person;
}

/** Nobody might be left who can give the role back. @throws OperatorError */
async function requireAdmin(control: ControlStore, was: readonly Grant[]): Promise<void> {
	const isAdmin = ({ aid, role }: Grant) => aid === null && role === 'admin';
	if (!was.some(isAdmin) || (await control.people.list()).some(({ grants }) => grants.some(isAdmin))) return;
	throw new OperatorError('This is the last admin: make somebody else one first.');
}

const ofPeople = { noun: 'user', right: 'administer', isOfAll: true } as const;

export const createUser = actOfAll({
	...ofPeople,
	verb: 'create',
	summary: 'add a person, and print a link to sign in',
	description: 'Add a person, and print a link with which they sign in once. Treat it as a secret.',
	takes: { email, ...grantFields, consoleUrl },
	prepare: consoleUrlOf,
	run: async (control, _, { email, ...given }, consoleUrl) =>
		newLoginLink(control, await control.people.create(email, grantsOf(given)), consoleUrl),
	remark: (_, { email }) => `The link signs ${email} in once. Treat it as a secret.`,
});

export const makeLink = actOfAll({
	...ofPeople,
	verb: 'link',
	done: 'link made',
	summary: 'print another link to sign in',
	description:
		'Print another link with which a person signs in once, for example because they have forgotten their password. Treat it as a secret.',
	takes: { email, consoleUrl },
	prepare: consoleUrlOf,
	run: async (control, _, { email }, consoleUrl) =>
		newLoginLink(control, await control.people.find(email), consoleUrl),
	remark: (_, { email }) => `The link signs ${email} in once. Treat it as a secret.`,
});

export const removeSecondFactor = actOfAll({
	...ofPeople,
	verb: 'remove-second-factor',
	done: 'second factor removed',
	summary: 'let a person sign in without a second factor that is lost',
	noCommand: "'user link --remove-second-factor' does it, since who has lost it needs a link, too",
	takes: { email },
	async run(control, _, { email }) {
		await control.people.removeSecondFactor((await control.people.find(email)).id);
		return { email };
	},
});

export const disconnectSingleSignOn = actOfAll({
	...ofPeople,
	verb: 'disconnect-single-sign-on',
	done: 'single sign-on disconnected',
	summary: 'disconnect a person from their single sign-on identity',
	takes: { email },
	async run(control, _, { email }) {
		await control.people.removeIdentity((await control.people.find(email)).id);
		return { email };
	},
	line: ({ email }) => `${email} is connected to no identity any more.`,
});

export const grantRole = actOfAll({
	...ofPeople,
	verb: 'grant',
	done: (given) => `role given: ${grantsInWords(grantsOf(given))}`,
	summary: 'give a role',
	description: 'Give a role, on all accounts or some. It replaces any role that the person has there.',
	takes: { email, ...grantFields },
	async run(control, _, { email, ...given }) {
		const { grants } = await control.people.find(email);
		const person = await control.people.grant(email, grantsOf(given));
		await requireAdmin(control, grants);
		return namedPerson(person);
	},
	record: (person) => ({ ...person, grants: grantsInWords(person.grants) }),
});

export const revokeRole = actOfAll({
	...ofPeople,
	verb: 'revoke',
	done: ({ account }) => `role revoked on ${(account ?? ['all accounts']).join(', ')}`,
	summary: 'revoke a role',
	description: 'Revoke a role: the one on all accounts, or those on some.',
	takes: {
		email,
		account: {
			flag: '--account <aid...>',
			text: 'the accounts (default: the role on all accounts)',
			isOptional: true,
		},
	},
	async run(control, _, { email, account }) {
		const { grants } = await control.people.find(email);
		const person = await control.people.revoke(email, account ?? [null]);
		await requireAdmin(control, grants);
		return namedPerson(person);
	},
	record: (person) => ({ ...person, grants: grantsInWords(person.grants) || '-' }),
});

export const endSessions = actOfAll({
	...ofPeople,
	verb: 'end-sessions',
	// Takes access away, in a hurry perhaps; to sign in again gives it back.
	demand: 'session',
	done: ({ session }) => (session === undefined ? 'signed out everywhere' : 'session ended'),
	summary: 'sign a person out',
	noCommand: "'user sessions --end' does it, beside the list",
	takes: {
		email,
		session: { flag: '--session <id>', text: 'only this session', isOptional: true },
	},
	run: async (control, _, { email, session }) => ({
		email,
		ended: await control.sessions.end(email, session === undefined ? {} : { id: session }),
	}),
});

export const removeUser = actOfAll({
	...ofPeople,
	verb: 'remove',
	done: 'user removed',
	summary: 'remove a person',
	description: 'Remove a person and sign them out. What they did stays in the audit log.',
	takes: { email },
	async warning({ store }, { email }) {
		const { grants } = await store.control.people.find(email);
		return {
			what: `${email} (${grantsInWords(grants) || 'no role'}) would be removed and signed out, with password, second factor and own views.`,
			named: email,
			name: email,
		};
	},
	async run(control, _, { email }) {
		const { grants } = await control.people.find(email);
		await control.people.remove(email);
		await requireAdmin(control, grants);
		return { removed: email };
	},
	line: ({ email }) => `${email} is removed, and signed out within a second.`,
});
