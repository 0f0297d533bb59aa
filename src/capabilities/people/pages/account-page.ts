import { encode } from 'uqr';
import { OperatorError } from '../../../core/errors.ts';
import { acting } from '../../../kit/console/act-form.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import type { ConsolePage, Once, PageRequest } from '../../../kit/console/page.ts';
import { sortedTable, timeOf } from '../../../kit/console/page-table.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import {
	disconnectOwnSingleSignOn,
	endOwnSessions,
	offerSecondFactor,
	removeOwnSecondFactor,
	renewRecoveryCodes,
	setPassword,
	setSecondFactor,
	withdrawSecondFactor,
} from '../acts/own-account-acts.ts';
import type { StoredPerson } from '../store/people-store.ts';
import { type ListedSession, sessionId } from '../store/sessions.ts';
import { newPasswordFields, proofField, requireCode } from './proof.ts';

/** One's own password, second factor and sessions. */
export const ownAccountPage: ConsolePage = {
	path: 'account',
	title: 'Your account',
	right: null,
	async get(asked) {
		const { store, person, query } = asked;
		const stored = await store.control.people.find(person.email);
		const [codes, sessions] = await Promise.all([
			store.control.people.recoveryCodes(person.id),
			store.control.sessions.list(person.email),
		]);
		return html`<p>You are signed in as <strong>${person.email}</strong>: ${rolesOf(person.grants)}.</p>
${query.get('sso') === 'taken' && html`<p class="problem" role="alert">This identity is not connected: it belongs to another person here, or you are connected to another one.</p>`}
${query.get('sso') === 'late' && html`<p class="problem" role="alert">This identity is not connected: it took too long. Try again.</p>`}
${passwordForm(asked, stored, await proofField(asked))}
${await secondFactor(asked, stored, codes)}
${ssoForm(asked, stored)}
<section class="section"><h2>Where you are signed in</h2>
${sessionTable(asked, sessions)}
${sessions.length > 1 && formOf(asked, 'end others', null, 'Sign out everywhere else')}</section>`;
	},
	actions: {
		password: acting(setPassword, async ({ act, form, session }: PageRequest) => {
			const password = form.get('new') ?? '';
			if (password !== form.get('again')) throw new OperatorError('The two new passwords differ.');
			await act(setPassword, { password, session: session.hash });
		}),
		offer: acting(offerSecondFactor, async (asked: PageRequest) => {
			const { secret, link } = await asked.act(offerSecondFactor, {});
			return {
				once: html`<p>Scan this picture with your app, type the key, or open the link on your phone. They are shown only now. Then enter the code that the app shows. After that you get recovery codes, in case you lose the phone.</p>
${qrCode(link)}
<p><code>${(secret.match(/.{1,4}/g) as string[]).join(' ')}</code></p>
<p><a href="${link}">Open in the app</a></p>
${offeredForms(asked)}`,
			};
		}),
		prove: acting(setSecondFactor, async (asked: PageRequest) => {
			await requireCode(asked);
			return recoveryCodes(asked, await asked.act(setSecondFactor, {}));
		}),
		codes: acting(renewRecoveryCodes, async (asked: PageRequest) =>
			recoveryCodes(asked, await asked.act(renewRecoveryCodes, {})),
		),
		'remove second factor': ofOneself(removeOwnSecondFactor),
		'remove offer': ofOneself(withdrawSecondFactor),
		async 'connect single sign-on'(asked) {
			const { address, cookie } = await asked.connect();
			await asked.note('single sign-on begun');
			return {
				once: html`<p><a href="${address}">Go on to ${asked.sso?.host}</a></p>`,
				headers: { 'set-cookie': cookie },
			};
		},
		'disconnect single sign-on': ofOneself(disconnectOwnSingleSignOn),
		'end session': acting(
			endOwnSessions,
			async ({ act, form }: PageRequest) =>
				void (await act(endOwnSessions, { session: form.get('session') ?? '' })),
		),
		'end others': acting(
			endOwnSessions,
			async ({ act, session }: PageRequest) => void (await act(endOwnSessions, { except: session.hash })),
		),
	},
};

function ofOneself(of: typeof withdrawSecondFactor) {
	return acting(of, async ({ act }: PageRequest) => void (await act(of, {})));
}

/** Black on white in every theme, since scanners need it. The border is what the standard (ISO/IEC 18004) asks for, in modules. */
function qrCode(text: string): Html {
	const { data, size } = encode(text, { ecc: 'M', border: 4 });
	const modules = data.flatMap((row, y) =>
		row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
	);
	return html`<svg role="img" aria-label="QR code of the link below" viewBox="0 0 ${size} ${size}" width="${4 * size}" height="${4 * size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${modules.join('')}" fill="#000"/></svg>`;
}

function recoveryCodes({ request }: PageRequest, { codes }: { readonly codes: readonly string[] }): Once {
	return {
		once: html`<p>Each of these codes signs you in once if you do not have your phone. They are shown only now: print them, or keep them where you keep passwords.</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p><a href="${request.path}">I have kept them</a></p>`,
	};
}

function passwordForm(asked: PageRequest, { hasPassword, email }: StoredPerson, proof: HtmlValue): Html {
	const fields = html`<input type="email" name="username" value="${email}" autocomplete="username" readonly hidden>
${proof}${newPasswordFields}`;
	return html`<section class="section"><h2>Password</h2>
<p>${hasPassword ? 'A new password signs you out everywhere else.' : 'You have none yet: without one you need another link next time.'}</p>
${formOf(asked, 'password', fields, hasPassword ? 'Change the password' : 'Set the password')}</section>`;
}

const code = html`<p><label>Code <input name="code" autocomplete="one-time-code" required></label></p>`;

/** What becomes of a second factor that was offered. */
function offeredForms(asked: PageRequest): Html {
	return html`${formOf(asked, 'prove', code, 'Use it from now on')}
${formOf(asked, 'remove offer', null, 'Not now')}`;
}

async function secondFactor(asked: PageRequest, person: StoredPerson, codes: number): Promise<Html> {
	const secret = (await asked.store.control.people.credentials(person.email))?.totpSecret ?? null;
	const parts = person.hasSecondFactor
		? html`<p>Signing in takes a code from your app. ${codes} recovery codes are left.</p>
${formOf(asked, 'codes', code, 'Make new recovery codes')}
${formOf(asked, 'remove second factor', code, 'Remove the second factor')}`
		: secret === null
			? html`<p>With an app that shows a code every half minute, a stolen password is not enough.</p>
${formOf(asked, 'offer', null, 'Set up a second factor')}`
			: html`<p>Enter the code that your app shows for the key that you were shown. If you have not kept it, press <em>Not now</em>, and set it up again with a new key.</p>
${offeredForms(asked)}`;
	return html`<section class="section"><h2>Second factor</h2>
${parts}</section>`;
}

function ssoForm(asked: PageRequest, { issuer }: StoredPerson): HtmlValue {
	const { sso } = asked;
	if (!sso && issuer === null) return null;
	const way =
		issuer === null
			? html`<p>Sign in through ${sso?.host} from now on. Your identity there is linked to your user here; its email address does not matter.</p>
${formOf(asked, 'connect single sign-on', null, 'Connect')}`
			: html`<p>You may sign in through ${new URL(issuer).host}.</p>
${formOf(asked, 'disconnect single sign-on', null, 'Disconnect')}`;
	return html`<section class="section"><h2>Single sign-on</h2>
${way}</section>`;
}

/** Sessions with a button each that ends one. */
export function sessionTable(asked: PageRequest, sessions: readonly ListedSession[]): Html {
	if (sessions.length === 0) return html`<p>Not signed in anywhere.</p>`;
	const own = sessionId(asked.session.hash);
	return sortedTable(asked, 'Sessions', sessions, {
		Browser: ({ agent, id }) => [agent, id === own && ' (this one)'],
		By: ({ method }) => method,
		Since: ({ createdAt }) => timeOf(createdAt),
		'Last used (to the hour)': ({ usedAt }) => timeOf(usedAt),
		'Sign out': ({ id }) => formOf(asked, 'end session', hiddenFields({ session: id }), 'Sign out'),
	});
}

/** For example: operator of c-a-acme-uk, viewer of all accounts. */
export function rolesOf(grants: PageRequest['person']['grants']): string {
	return grants.map(({ aid, role }) => `${role} of ${aid ?? 'all accounts'}`).join(', ') || 'no role yet';
}
