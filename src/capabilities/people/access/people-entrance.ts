import { minuteMs } from '../../../core/durations.ts';
import { OperatorError, QueueFullError } from '../../../core/errors.ts';
import type { Entrance, EntranceOptions } from '../../../kit/console/entrance.ts';
import {
	type ConsoleAnswer,
	type ConsoleRequest,
	redirect,
	signInClientOf,
} from '../../../kit/console/exchange.ts';
import { hiddenFields } from '../../../kit/console/form.ts';
import { pageAnswer } from '../../../kit/console/layout.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { emailAddress } from '../../../kit/format/values.ts';
import type { OpenSession } from '../../../kit/person.ts';
import { missingProof } from '../pages/proof.ts';
import type { Identity } from '../store/people-store.ts';
import { isFromConsole, SessionCookie } from './console-requests.ts';
import { SignIn, type SignInOutcome } from './sign-in.ts';
import { returnPath, SingleSignOn } from './single-sign-on.ts';
import { formToken, isFormToken } from './tokens.ts';

const signInPath = '/console/sign-in';
const ssoPath = `${signInPath}/sso`;
/** How long somebody may take at the provider of single sign-on. */
const journeySeconds = 600;
/** How long a proof by single sign-on is good for. */
const proofSeconds = 300;
/** So long after signing in by a link or by single sign-on, no other proof is asked for. */
const freshMs = 15 * minuteMs;

const problems = {
	refused: 'The address or the password is not right.',
	link: 'This link was used before, or is older than 15 minutes. Ask an administrator for another: caskade user link EMAIL',
	code: 'This code is not right, or was used before. Wait for the next one.',
	unsent: 'You were no longer signed in, so what you sent was not done. Sign in, and send it again.',
	expired: 'It took more than five minutes. Sign in again.',
	sso: 'Single sign-on has not worked; the log of the server says why. Try again.',
	stranger:
		'No user here is linked to this identity. Sign in with a link or a password first, and connect it on the page of your account.',
} as const;

/** Lets people into the console: the pages for whoever has not signed in, and who asks. */
export function createEntrance(options: EntranceOptions): Entrance {
	const { control, consoleUrl, now, onError } = options;
	const signIn = new SignIn(options);
	const sso = options.sso && new SingleSignOn(options.sso, consoleUrl);

	/** Who asks; undefined where nobody has signed in. */
	function signedIn(request: ConsoleRequest): Promise<OpenSession | undefined> {
		return signIn.of(cookieOf(request).read(request.headers));
	}

	/** @param purpose of another cookie than that of the session */
	function cookieOf(request: ConsoleRequest, purpose?: string): SessionCookie {
		return new SessionCookie(isSecure(request), new URL(consoleUrl).port, purpose);
	}

	function isSecure(request: ConsoleRequest): boolean {
		return request.isSecure || consoleUrl.startsWith('https:');
	}

	/** Whether a form is from a page of the console that this person was shown. */
	function isOwnForm({ headers }: ConsoleRequest, form: URLSearchParams, { token }: OpenSession): boolean {
		return isFromConsole(headers, consoleUrl) && isFormToken(form.get('token') ?? undefined, token);
	}

	/**
	 * Whether somebody has just shown who they are in another way than by their password. Who has carried the cookie into
	 * another browser has not.
	 */
	function isFresh(request: ConsoleRequest, { session }: OpenSession): boolean {
		const isHere = signInClientOf(request).agent === session.agent;
		return isHere && session.method !== 'password' && now() - session.createdAtMs < freshMs;
	}

	/** What `proved` has left in the browser. */
	function shownIdentity(request: ConsoleRequest): string | undefined {
		return cookieOf(request, 'proof').read(request.headers);
	}

	/** Begins the way to the provider on which an identity is tied to a person, who has given a proof. */
	async function connect(request: ConsoleRequest, { person }: OpenSession) {
		if (!sso) throw new OperatorError('No single sign-on is set up.');
		const { address, kept } = await sso.depart();
		// The browser keeps the journey, so only a token that is known here says that there was a proof.
		const token = await signIn.linkFor(person.id, journeySeconds * 1000);
		const cookie = cookieOf(request, 'sso').set(`${kept}.connect.${token}`, journeySeconds);
		return { address, cookie };
	}

	/** Answers what is for everybody; undefined for all other paths. */
	async function answer(request: ConsoleRequest): Promise<ConsoleAnswer | undefined> {
		if (!isSecure(request) && !request.isByLoopback)
			return refusal(plainHttp, ways(new URL(consoleUrl).port));
		const handle = handlers[`${request.method} ${request.path}`];
		return handle?.(request, new URLSearchParams(request.query));
	}

	type Handle = (request: ConsoleRequest, query: URLSearchParams) => Promise<ConsoleAnswer>;
	const handlers: Readonly<Record<string, Handle>> = {
		[`GET ${signInPath}`]: show,
		[`POST ${signInPath}`]: take,
		[`GET ${ssoPath}`]: depart,
		[`GET ${returnPath}`]: arrive,
		'POST /console/sign-out': signOut,
	};

	async function show(request: ConsoleRequest, query: URLSearchParams): Promise<ConsoleAnswer> {
		const to = query.get('to') ?? '';
		const link = query.get('link');
		const problem = query.has('unsent') ? problems.unsent : undefined;
		if (link === null)
			return (await signedIn(request)) ? redirect(destinationOf(to)) : signInPage(200, { to, problem });
		const email = await signIn.linkOf(link);
		return email === undefined ? signInPage(410, { problem: problems.link, to }) : linkPage(email, link, to);
	}

	async function take(request: ConsoleRequest): Promise<ConsoleAnswer> {
		if (!isFromConsole(request.headers, consoleUrl)) return foreignForm();
		const form = new URLSearchParams(request.form);
		const field = (name: string) => form.get(name) ?? '';
		const [to, email] = [field('to'), field('email')];
		const client = signInClientOf(request);
		if (form.has('link')) {
			const outcome = await signIn.withLink(field('link'), client);
			return next(request, outcome, { to, problem: problems.link, isByLink: true });
		}
		if (form.has('second')) {
			const outcome = await signIn.withCode(field('second'), field('code'), client);
			const problem = outcome === 'refused' ? problems.expired : problems.code;
			return next(request, outcome, { to, problem, asksAgain: true });
		}
		const outcome = await signIn.withPassword(normalised(email), field('password'), client).catch((error) => {
			if (error instanceof QueueFullError) return { retryAfterMs: 5000 };
			throw error;
		});
		return next(request, outcome, { to, email, problem: problems.refused });
	}

	async function next(
		request: ConsoleRequest,
		outcome: SignInOutcome,
		shown: { to: string; problem: string; email?: string; isByLink?: boolean; asksAgain?: boolean },
	): Promise<ConsoleAnswer> {
		const { to, problem, isByLink, asksAgain } = shown;
		if (outcome === 'refused') return signInPage(isByLink ? 410 : 401, shown);
		if ('retryAfterMs' in outcome) {
			const seconds = Math.ceil(outcome.retryAfterMs / 1000);
			const wait = `Too many attempts. Try again in ${seconds} s, or sign in with a link.`;
			return withHeaders(signInPage(429, { ...shown, problem: wait }), { 'retry-after': String(seconds) });
		}
		if ('secondFactor' in outcome) return codePage(outcome.secondFactor, to, asksAgain ? problem : undefined);
		const before = await signedIn(request);
		if (before) await signIn.end(before);
		return redirect(destinationOf(to), { 'set-cookie': cookieOf(request).set(outcome.token) });
	}

	async function signOut(request: ConsoleRequest): Promise<ConsoleAnswer> {
		const open = await signedIn(request);
		if (open && !isOwnForm(request, new URLSearchParams(request.form), open)) return foreignForm();
		if (open) {
			await signIn.end(open);
			await control.audit.add({ who: open.person.email, action: 'signed out' });
		}
		return redirect(signInPath, { 'set-cookie': cookieOf(request).clear() });
	}

	/** Leads to the provider. With `prove`, to show once more who has signed in, and only from the console's own page. */
	async function depart(request: ConsoleRequest, query: URLSearchParams): Promise<ConsoleAnswer> {
		if (!sso) return signInPage(404, {});
		const proves = query.has('prove');
		if (proves && request.headers['sec-fetch-site'] !== 'same-origin') return foreignForm();
		try {
			const { address, kept } = await sso.depart();
			const to = destinationOf(query.get('to') ?? '');
			const journey = `${kept}.${proves ? 'prove' : 'enter'}.${Buffer.from(to).toString('base64url')}`;
			return redirect(address, { 'set-cookie': cookieOf(request, 'sso').set(journey, journeySeconds) });
		} catch (error) {
			onError(error, ssoPath);
			return signInPage(502, { problem: problems.sso });
		}
	}

	async function arrive(request: ConsoleRequest): Promise<ConsoleAnswer> {
		const journey = cookieOf(request, 'sso').read(request.headers);
		if (!sso || journey === undefined) return signInPage(400, { problem: problems.sso });
		const clear = cookieOf(request, 'sso').clear();
		const parts = journey.split('.');
		try {
			const identity = await sso.arrive(request.query, parts.slice(0, 3).join('.'));
			if (parts[3] === 'connect')
				return redirect(await connected(request, identity, parts[4] ?? ''), { 'set-cookie': clear });
			if (parts[3] === 'prove') return await proved(request, identity, clear);
			const person = await control.people.withIdentity(identity);
			if (!person)
				return withHeaders(signInPage(403, { problem: problems.stranger }), { 'set-cookie': clear });
			const { token } = await signIn.begin(person.id, person.email, 'sso', signInClientOf(request));
			const to = destinationOf(Buffer.from(parts[4] ?? '', 'base64url').toString());
			return redirect(to, { 'set-cookie': [clear, cookieOf(request).set(token)] });
		} catch (error) {
			// The library says at first only that something was wrong.
			onError(error instanceof Error && error.cause ? error.cause : error, returnPath);
			return withHeaders(signInPage(400, { problem: problems.sso }), { 'set-cookie': clear });
		}
	}

	/** Ties an identity to whoever has signed in. @returns where that leads to */
	async function connected(request: ConsoleRequest, identity: Identity, token: string): Promise<string> {
		const open = await signedIn(request);
		if (!open) return signInPath;
		if (!(await signIn.spendLink(token, open.person.email))) return '/console/account?sso=late';
		if (!(await control.people.setIdentity(open.person.id, identity))) return '/console/account?sso=taken';
		await control.audit.add({ who: open.person.email, action: 'single sign-on connected' });
		return '/console/account';
	}

	/** Leaves a proof in the browser that is good once, for a form that waits in another window. */
	async function proved(request: ConsoleRequest, identity: Identity, clear: string): Promise<ConsoleAnswer> {
		const open = await signedIn(request);
		const person = await control.people.withIdentity(identity);
		if (!open || person?.id !== open.person.id)
			return withHeaders(refusal('Your identity at the provider is not the one that is connected here.'), {
				'set-cookie': clear,
			});
		const cookie = cookieOf(request, 'proof').set(
			await signIn.linkFor(person.id, proofSeconds * 1000),
			proofSeconds,
		);
		await control.audit.add({ who: person.email, action: 'identity shown by sso' });
		const body = html`<p class="empty" role="status">You have shown who you are. Close this window, and send the form in the other one within five minutes.</p>`;
		return withHeaders(pageAnswer(200, { title: 'Thank you', body }), { 'set-cookie': [clear, cookie] });
	}

	function foreignForm(): ConsoleAnswer {
		return refusal(
			`This form does not come from a page of the console at ${consoleUrl}. If that is not where you see it, set --console-url to its address.`,
			html`<p><a href="${signInPath}">Sign in</a></p>`,
		);
	}

	function signInPage(status: number, shown: { to?: string; email?: string; problem?: string | undefined }) {
		const { to = '', email = '', problem } = shown;
		const back = to && `?to=${encodeURIComponent(to)}`;
		const fields = html`<p><label>Email address <input type="email" name="email" value="${email}" autocomplete="username" required></label></p>
<p><label>Password <input type="password" name="password" autocomplete="current-password" required></label></p>`;
		const body = html`${signInForm({ to }, fields, problem)}
${sso && html`<p><a href="${ssoPath}${back}">Sign in through ${sso.host}</a></p>`}
<p class="hint">No password, or forgotten? Ask an administrator for a link, which <code>caskade user link EMAIL</code> makes on the server.</p>`;
		return pageAnswer(status, { title: 'Sign in', body });
	}

	return {
		answer,
		signedIn,
		toSignIn,
		isOwnForm,
		missingProof,
		known: (request, open) => ({
			signIn,
			sso,
			formToken: formToken(open.token),
			isFresh: isFresh(request, open),
			shownIdentity: shownIdentity(request),
			connect: () => connect(request, open),
		}),
		lastAid: ({ id }) => control.people.lastAid(id),
		rememberAid: ({ id }, aid) => control.people.rememberAid(id, aid),
		views: (accountId, { id }) => control.views.list(accountId, id),
	};
}

/**
 * Leads to the sign-in, and from there back to the page that was asked for, or whose form was sent.
 * @param isShown whether the path can be asked for, not only sent to
 */
function toSignIn({ path, query, method }: ConsoleRequest, isShown: boolean): ConsoleAnswer {
	const isForm = method !== 'GET';
	const to = isForm && !isShown ? '' : `${path}${query && `?${query}`}`;
	const isHome = ['', '/', '/console', '/console/'].includes(to);
	const kept = new URLSearchParams({ ...(!isHome && { to }), ...(isForm && { unsent: '1' }) });
	return redirect(kept.size > 0 ? `${signInPath}?${kept}` : signInPath);
}

function withHeaders(answer: ConsoleAnswer, headers: ConsoleAnswer['headers']): ConsoleAnswer {
	return { ...answer, headers: { ...answer.headers, ...headers } };
}

function signInForm(kept: Readonly<Record<string, string>>, fields: HtmlValue, problem?: string): Html {
	return html`${problem && html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="${signInPath}">
${hiddenFields(kept)}${fields}
<p><button>Sign in</button></p>
</form>`;
}

/** Looking at it leaves the link as it is: filters of mail follow links. */
function linkPage(email: string, link: string, to: string): ConsoleAnswer {
	const body = html`<p>This link signs you in once, as <strong>${email}</strong>.</p>
${signInForm({ link, to }, null)}`;
	return withHeaders(pageAnswer(200, { title: 'Sign in', body }), { 'referrer-policy': 'no-referrer' });
}

function codePage(second: string, to: string, problem: string | undefined): ConsoleAnswer {
	const field = html`<p><label>The six digits that your app shows, or a recovery code <input name="code" autocomplete="one-time-code" required></label></p>`;
	const body = html`${signInForm({ second, to }, field, problem)}
<p class="note">Lost both? An administrator makes a link that needs none: <code>caskade user link EMAIL --remove-second-factor</code></p>`;
	return pageAnswer(problem === undefined ? 200 : 401, { title: 'Second factor', body });
}

const plainHttp =
	'Plain http would show passwords to everybody on the way, so the console cannot be used at this address.';

/** @param port of the console */
function ways(port: string): Html {
	return html`<p>Two ways lead to it:</p>
<ul>
<li>For you, now: a tunnel. Run <code>ssh -N -L ${port}:127.0.0.1:${port} SERVER</code> on your own machine, and open <code>http://127.0.0.1:${port}/console/</code> there.</li>
<li>For everybody: a proxy with TLS that sets <code>X-Forwarded-For</code> and <code>X-Forwarded-Proto</code>, and the flags <code>--behind-proxy</code> and <code>--console-url https://…</code>.</li>
</ul>
<p class="hint">The page “The console” of the documentation, under “Reaching the console”, has both, and those for containers.</p>`;
}

function refusal(why: string, way?: Html): ConsoleAnswer {
	const body = html`<p class="problem" role="alert">${why}</p>
${way}`;
	return pageAnswer(403, { title: 'Refused', body });
}

/** A page of the console, and nothing else: an address that somebody has sent must not lead away from it. */
function destinationOf(to: string): string {
	if (!/^\/console\/[\w./~%?&=+:,-]*$/.test(to)) return '/console/';
	// As a browser reads it, which takes `..` out.
	const { pathname, search } = new URL(to, 'http://console');
	const isPage = pathname.startsWith('/console/') && !pathname.startsWith(signInPath);
	return isPage ? pathname + search : '/console/';
}

/** As it is stored. What is no address is nobody's, and is guessed at like one. */
function normalised(email: string): string {
	try {
		return emailAddress(email);
	} catch (error) {
		if (error instanceof OperatorError) return 'nobody';
		throw error;
	}
}
