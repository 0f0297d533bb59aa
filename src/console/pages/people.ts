import { newLoginLink } from '../../access/sign-in.ts';
import { type Grant, type PersonRole, personRoles } from '../../domain/person.ts';
import { OperatorError } from '../../errors.ts';
import { type Html, html } from '../../format/html.ts';
import { emailAddress } from '../../format/values.ts';
import { redirect } from '../exchange.ts';
import type { Asked, ConsolePage } from '../page.ts';
import { formOf, rolesOf, sessionTable, timeOf } from './account.ts';

/** Everybody who may use the console. */
export const peoplePage: ConsolePage = {
	path: 'people',
	title: 'People',
	menu: 'People',
	right: 'administer',
	async get(asked) {
		const { control } = asked.store;
		const people = await control.people.list();
		const sessions = Map.groupBy(await control.sessions.list(), ({ email }) => email);
		return html`<div class="wide" tabindex="0" role="group" aria-label="People"><table>
<thead><tr><th scope="col">Address</th><th scope="col">Roles</th><th scope="col">Signs in with</th><th scope="col">Last seen, to the hour</th></tr></thead>
<tbody>${people.map(
			(
				person,
			) => html`<tr><td><a href="${pathOf(person.email)}">${person.email}</a></td><td>${rolesOf(person.grants)}</td><td>${waysOf(person)}</td><td>${sessions.get(person.email)?.[0] ? timeOf(sessions.get(person.email)?.[0]?.usedAt as string) : 'not signed in'}</td></tr>
`,
		)}</tbody></table></div>
<p><a href="/console/audit">What people did</a></p>
<section class="section"><h2>Add a person</h2>
${formOf(
	asked,
	'create',
	html`<p><label>Email address <input type="email" name="email" required></label></p>
${grantFields(asked)}`,
	'Add, and make a link to sign in',
)}</section>`;
	},
	async post(asked) {
		const { store, form, consoleUrl } = asked;
		const email = emailAddress(form.get('email') ?? '');
		const person = await store.control.people.create(email, [grantOf(form)]);
		await asked.note('user created', email);
		return onceLink(await newLoginLink(store.control, person, consoleUrl));
	},
};

/** One person: roles, sessions, another link. */
export const personPage: ConsolePage = {
	path: 'people/:email',
	title: 'Person',
	right: 'administer',
	async get(asked) {
		const { control } = asked.store;
		const person = await control.people.find(asked.parts.email as string);
		const sessions = await control.sessions.list(person.email);
		const isSelf = person.id === asked.person.id;
		return html`<p><strong>${person.email}</strong>, since ${timeOf(person.createdAt)}, signs in with ${waysOf(person)}.</p>
<section class="section"><h2>Roles</h2>
${
	person.grants.length === 0
		? html`<p>None: this person sees nothing.</p>`
		: html`<ul>${person.grants.map(
				({ aid, role }) => html`<li>${role} of ${aid ?? 'all accounts'}
${!(isSelf && aid === null) && formOf(asked, 'revoke', html`<input type="hidden" name="account" value="${aid}">`, 'Take away')}</li>
`,
			)}</ul>`
}
${formOf(asked, 'grant', grantFields(asked), 'Give this role')}</section>
<section class="section"><h2>Signed in</h2>
${sessionTable(asked, sessions)}
${sessions.length > 1 && formOf(asked, 'end sessions', null, 'Sign out everywhere')}</section>
<section class="section"><h2>Another link</h2>
<p>It signs ${person.email} in once, within 15 minutes, for example where the password is forgotten.</p>
${formOf(asked, 'link', null, 'Make a link')}
${person.hasSecondFactor && formOf(asked, 'remove second factor', null, 'Remove the second factor, which is lost')}
${person.issuer !== null && formOf(asked, 'disconnect single sign-on', null, 'Disconnect single sign-on')}</section>
${
	!isSelf &&
	html`<section class="section"><h2>Remove</h2>
${formOf(asked, 'remove', null, `Remove ${person.email}`, 'danger')}</section>`
}
<p><a href="/console/audit?user=${encodeURIComponent(person.email)}">What ${person.email} did</a></p>`;
	},
	async post(asked) {
		const { store, form, parts, consoleUrl } = asked;
		const { people, sessions } = store.control;
		const person = await people.find(parts.email as string);
		const { email, id } = person;
		const action = form.get('action');
		const account = form.get('account') || null;
		const isSelf = id === asked.person.id;
		if (action === 'grant') {
			const grant = grantOf(form);
			// Else nobody might be left who can give it back.
			if (isSelf && grant.aid === null && grant.role !== 'admin')
				throw new OperatorError('You cannot take your own role of an admin away; another admin can.');
			await people.grant(email, [grant]);
			await asked.note(`role given: ${rolesOf([grant])}`, email);
		} else if (action === 'revoke') {
			if (isSelf && account === null)
				throw new OperatorError('You cannot take your own role of an admin away; another admin can.');
			await people.revoke(email, [account]);
			await asked.note(`role taken away on ${account ?? 'all accounts'}`, email);
		} else if (action === 'end session') {
			await sessions.end(email, { id: form.get('session') ?? '' });
			await asked.note('session ended', email);
		} else if (action === 'end sessions') {
			await sessions.end(email);
			await asked.note('signed out everywhere', email);
		} else if (action === 'remove second factor') {
			await people.removeSecondFactor(id);
			await asked.note('second factor removed', email);
		} else if (action === 'disconnect single sign-on') {
			await people.removeIdentity(id);
			await asked.note('single sign-on disconnected', email);
		} else if (action === 'link') {
			await asked.note('link made', email);
			return onceLink(await newLoginLink(store.control, person, consoleUrl));
		} else if (action === 'remove') {
			if (isSelf) throw new OperatorError('You cannot remove yourself; another admin can.');
			await people.remove(email);
			await asked.note('user removed', email);
			return redirect('/console/people');
		} else throw new OperatorError('The form names nothing that this page can do.');
		return redirect(pathOf(email));
	},
};

const maxEntries = 200;

/** Who looked at whom, and who changed what. */
export const auditPage: ConsolePage = {
	path: 'audit',
	title: 'What people did',
	menu: 'Audit log',
	right: 'administer',
	async get({ store, query, request }) {
		const filter = (name: string) => query.get(name) || undefined;
		const [aid, who, about] = [filter('account'), filter('user'), filter('about')];
		const entries = await store.control.audit.list({ aid, who, about, limit: maxEntries });
		const field = (name: string, label: string) =>
			html`<label>${label} <input name="${name}" value="${query.get(name)}"></label>
`;
		return html`<form method="get" action="${request.path}" class="view">
${field('user', 'Who')}${field('account', 'Account')}${field('about', 'Visitor, key or person')}
<button>Show</button> <a href="${request.path}">Reset</a>
</form>
${
	entries.length === 0
		? html`<p class="empty">Nothing yet.</p>`
		: html`<div class="wide" tabindex="0" role="group" aria-label="What people did"><table>
<thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Account</th><th scope="col">About</th></tr></thead>
<tbody>${entries.map(
				(
					entry,
				) => html`<tr><td>${timeOf(entry.at)}</td><td>${entry.who}</td><td>${entry.action}</td><td>${entry.aid}</td><td>${entry.about}</td></tr>
`,
			)}</tbody></table></div>`
}
${entries.length === maxEntries && html`<p class="note">These are the latest ${maxEntries}; earlier ones are listed by <code>npx caskade audit list --limit 1000</code>.</p>`}
<p class="note">Entries are kept for 400 days. Of an erased visitor only stays that somebody did something with one.</p>`;
	},
};

function pathOf(email: string): string {
	return `/console/people/${encodeURIComponent(email)}`;
}

function waysOf({
	hasPassword,
	hasSecondFactor,
	issuer,
}: {
	readonly hasPassword: boolean;
	readonly hasSecondFactor: boolean;
	readonly issuer: string | null;
}): string {
	const ways = [hasPassword && 'password', hasSecondFactor && 'second factor', issuer && 'single sign-on'];
	return ways.filter(Boolean).join(', ') || 'links alone';
}

function grantFields({ directory }: Asked): Html {
	return html`<p><label>Role <select name="role">${personRoles.map((role) => html`<option>${role}</option>`)}</select></label>
<label>Account <select name="account"><option value="">all accounts</option>${directory.accounts.map(({ aid }) => html`<option>${aid}</option>`)}</select></label></p>`;
}

/** @throws OperatorError where a form asks for a role that does not exist, or an admin of one account */
function grantOf(form: URLSearchParams): Grant {
	const [role, aid] = [form.get('role') ?? '', form.get('account') || null];
	if (!(personRoles as readonly string[]).includes(role))
		throw new OperatorError(`A role is one of ${personRoles.join(', ')}.`);
	if (role === 'admin' && aid !== null) throw new OperatorError('An admin is one of all accounts.');
	return { aid, role: role as PersonRole };
}

function onceLink({ email, link, expiresAt }: { email: string; link: string; expiresAt: string }): {
	once: Html;
} {
	return {
		once: html`<p>This link signs ${email} in once, until ${timeOf(expiresAt)}. It is shown this once; send it to nobody else.</p>
<p><code class="secret">${link}</code></p>
<p><a href="${pathOf(email)}">To ${email}</a></p>`,
	};
}
