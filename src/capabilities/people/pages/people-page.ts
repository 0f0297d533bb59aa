import { acting, questionOf } from '../../../kit/console/act-form.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { fieldOf, formOf, hiddenFields } from '../../../kit/console/form.ts';
import type { ConsolePage, PageRequest } from '../../../kit/console/page.ts';
import { sortedTable, timeOf } from '../../../kit/console/page-table.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { emailAddress, oneOf } from '../../../kit/format/values.ts';
import { personRoles } from '../../../kit/person.ts';
import {
	createUser,
	disconnectSingleSignOn,
	endSessions,
	grantRole,
	makeLink,
	removeSecondFactor,
	removeUser,
	revokeRole,
} from '../acts/people-acts.ts';
import type { StoredPerson } from '../store/people-store.ts';
import { rolesOf, sessionTable } from './account-page.ts';

/** Everybody who may use the console. */
export const peoplePage: ConsolePage = {
	path: 'people',
	title: 'People',
	menu: 'People',
	place: 17,
	right: 'administer',
	async get(asked) {
		const { control } = asked.store;
		const people = await control.people.list();
		const sessions = Map.groupBy(await control.sessions.list(), ({ email }) => email);
		const fields = html`<p><label>Email address <input type="email" name="email" required></label></p>
${grantFields(asked)}`;
		return html`${sortedTable(asked, 'People', people, {
			Address: ({ email }) => html`<a href="${pathOf(email)}">${email}</a>`,
			Roles: ({ grants }) => rolesOf(grants),
			'Signs in with': waysOf,
			'Last seen (to the hour)': ({ email }) => {
				const usedAt = sessions.get(email)?.[0]?.usedAt;
				return usedAt === undefined ? 'not signed in' : timeOf(usedAt);
			},
		})}
<p><a href="/console/audit">Audit log</a></p>
<section class="section"><h2>Add a person</h2>
${formOf(asked, 'create', fields, 'Add, and create a sign-in link')}</section>`;
	},
	actions: {
		create: acting(createUser, async (asked: PageRequest) => {
			const { form, consoleUrl } = asked;
			const email = fieldOf(form, 'email', 'Email address', emailAddress);
			return onceLink(await asked.act(createUser, { email, ...grantOf(form), consoleUrl }));
		}),
	},
};

/** One person: roles, sessions, another link. */
export const personPage: ConsolePage = {
	path: 'people/:email',
	title: 'Person',
	right: 'administer',
	async get(asked) {
		const person = await asked.store.control.people.find(asked.parts.email as string);
		const sessions = await asked.store.control.sessions.list(person.email);
		return html`<p><strong>${person.email}</strong>, since ${timeOf(person.createdAt)}. Signs in with: ${waysOf(person)}.</p>
<section class="section"><h2>Roles</h2>
${
	person.grants.length === 0
		? html`<p>No roles: this person sees nothing.</p>`
		: html`<ul>${person.grants.map(
				({ aid, role }) => html`<li>${role} of ${aid ?? 'all accounts'}
${formOf(asked, 'revoke', hiddenFields({ account: aid }), 'Revoke this role')}</li>
`,
			)}</ul>`
}
${formOf(asked, 'grant', grantFields(asked), 'Give this role')}</section>
<section class="section"><h2>Signed in</h2>
${sessionTable(asked, sessions)}
${sessions.length > 1 && formOf(asked, 'end sessions', null, 'Sign out everywhere')}</section>
<section class="section"><h2>A new link to sign in</h2>
<p>It signs ${person.email} in once, within 15 minutes, for example if the password is forgotten.</p>
${formOf(asked, 'link', null, 'Make a link')}
${person.hasSecondFactor && formOf(asked, 'remove second factor', null, 'Remove the lost second factor')}
${person.issuer !== null && formOf(asked, 'disconnect single sign-on', null, 'Disconnect single sign-on')}</section>
<section class="section"><h2>Remove</h2>
${formOf(asked, 'remove', null, `Remove ${person.email}`, { look: 'danger' })}</section>
<p><a href="/console/audit?user=${encodeURIComponent(person.email)}">What ${person.email} did</a></p>`;
	},
	actions: {
		grant: acting(
			grantRole,
			async (asked: PageRequest) =>
				void (await asked.act(grantRole, { ...emailOf(asked), ...grantOf(asked.form) })),
		),
		revoke: acting(revokeRole, async (asked: PageRequest) => {
			await asked.act(revokeRole, { ...emailOf(asked), account: accountsOf(asked.form) });
		}),
		'end session': acting(
			endSessions,
			async (asked: PageRequest) =>
				void (await asked.act(endSessions, { ...emailOf(asked), session: asked.form.get('session') ?? '' })),
		),
		'end sessions': ofPerson(endSessions),
		'remove second factor': ofPerson(removeSecondFactor),
		'disconnect single sign-on': ofPerson(disconnectSingleSignOn),
		link: acting(makeLink, async (asked: PageRequest) =>
			onceLink(await asked.act(makeLink, { ...emailOf(asked), consoleUrl: asked.consoleUrl })),
		),
		remove: acting(removeUser, async (asked: PageRequest) => {
			await asked.act(removeUser, emailOf(asked));
			return redirect('/console/people');
		}),
	},
	questions: { remove: (asked) => questionOf(removeUser, { ...asked, account: undefined }, emailOf(asked)) },
};

function ofPerson(of: typeof endSessions | typeof removeSecondFactor) {
	return acting(of, async (asked: PageRequest) => void (await asked.act(of, emailOf(asked))));
}

const emailOf = ({ parts }: PageRequest) => ({ email: parts.email as string });

const maxListed = 1000;

/** Who looked at whom, and who changed what. */
export const auditPage: ConsolePage = {
	path: 'audit',
	title: 'Audit log',
	menu: 'Audit log',
	place: 18,
	right: 'administer',
	async get(asked) {
		const { store, query, request } = asked;
		const filter = (name: string) => query.get(name) || undefined;
		const [aid, who, about] = [filter('account'), filter('user'), filter('about')];
		const entries = await store.control.audit.list({ aid, who, about, limit: maxListed });
		const field = (name: string, label: string) =>
			html`<label>${label} <input name="${name}" value="${query.get(name)}"></label>
`;
		const table = sortedTable(asked, 'Audit log', entries, {
			When: ({ at }) => timeOf(at),
			Who: ({ who }) => who,
			What: ({ action }) => action,
			Account: ({ aid }) => aid,
			About: ({ about }) => about,
		});
		return html`<form method="get" action="${request.path}" class="view">
${field('user', 'Who')}${field('account', 'Account')}${field('about', 'Visitor, key or person')}
<button>Show</button> <a href="${request.path}">Reset</a>
</form>
${entries.length === 0 ? html`<p class="empty">No entries.</p>` : table}
${entries.length === maxListed && html`<p class="note">These are the latest 1,000; earlier ones are listed by <code>caskade audit list --limit 10000</code>.</p>`}
<p class="note">Entries are kept for 400 days. Once a visitor or customer is erased, entries no longer say whom they concerned.</p>`;
	},
};

function pathOf(email: string): string {
	return `/console/people/${encodeURIComponent(email)}`;
}

function waysOf({ hasPassword, hasSecondFactor, issuer }: StoredPerson): string {
	const ways = [hasPassword && 'password', hasSecondFactor && 'second factor', issuer && 'single sign-on'];
	return ways.filter(Boolean).join(', ') || 'link only';
}

function grantFields({ directory }: PageRequest): Html {
	return html`<p><label>Role <select name="role">${personRoles.map((role) => html`<option>${role}</option>`)}</select></label>
<label>Account <select name="account"><option value="">all accounts</option>${directory.accounts.map(({ aid }) => html`<option>${aid}</option>`)}</select></label></p>`;
}

/** The account that a form names; undefined for all. */
function accountsOf(form: URLSearchParams): string[] | undefined {
	const account = form.get('account');
	return account ? [account] : undefined;
}

/** The role that a form gives, on one account or all. */
function grantOf(form: URLSearchParams) {
	return { role: fieldOf(form, 'role', 'Role', oneOf(personRoles)), account: accountsOf(form) };
}

function onceLink({ email, link, expiresAt }: { email: string; link: string; expiresAt: string }): {
	once: Html;
} {
	return {
		once: html`<p>This link signs ${email} in once, until ${timeOf(expiresAt)}. It is shown only now. Send it to this person alone.</p>
<p><code class="secret">${link}</code></p>
<p><a href="${pathOf(email)}">To ${email}</a></p>`,
	};
}
