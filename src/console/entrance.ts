import { isFromConsole, isLocal, SessionCookie } from '../access/console-requests.ts';
import type { AccessDirectory } from '../access/directory.ts';
import { type OpenSession, SignIn, type SignInClient, type SignInOutcome } from '../access/sign-in.ts';
import { returnPath, SingleSignOn, type SsoSettings } from '../access/single-sign-on.ts';
import { isFormToken } from '../access/tokens.ts';
import { agentInWords } from '../collect/device.ts';
import { minuteMs } from '../durations.ts';
import { OperatorError, QueueFullError } from '../errors.ts';
import { type Html, html } from '../format/html.ts';
import { emailAddress } from '../format/values.ts';
import type { ControlStore } from '../store/control/control-store.ts';
import { type ConsoleAnswer, type ConsoleRequest, redirect } from './exchange.ts';
import { layout } from './layout.ts';

/** What the console must know to let people in. */
export interface EntranceSettings {
	/** Where people reach the console, without a path. */
	readonly consoleUrl: string;
	readonly sso?: SsoSettings | undefined;
}

export interface EntranceOptions extends EntranceSettings {
	readonly control: ControlStore;
	readonly directory: AccessDirectory;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly monotonicMs: () => number;
	/** Something failed that is no fault of the request. */
	readonly onError: (error: unknown, path: string) => void;
}

const signInPath = '/console/sign-in';
const ssoPath = `${signInPath}/sso`;
/** How long somebody may take at the provider of single sign-on. */
const journeySeconds = 600;
/** So long after signing in by a link or by single sign-on, a new password needs no old one. */
const freshMs = 15 * minuteMs;

const problems = {
	refused: 'The address or the password is not right.',
	link: 'This link was used before, or is older than 15 minutes. Somebody who may run commands makes another one with: npx caskade user link EMAIL',
	code: 'This code is not right, or was used before. Wait for the next one.',
	expired: 'It took more than five minutes. Sign in again.',
	sso: 'Single sign-on has not worked; the log of the server says why. Try again.',
	stranger:
		'Nobody here is tied to this identity. Sign in with a link or a password first, and connect it on the page of your account.',
} as const;

/** Lets people into the console: the pages for whoever has not signed in, and who asks. */
export class Entrance {
	readonly signIn: SignIn;
	readonly consoleUrl: string;
	readonly sso: SingleSignOn | undefined;
	readonly #control: ControlStore;
	readonly #now: () => number;
	readonly #onError: EntranceOptions['onError'];

	constructor(options: EntranceOptions) {
		const { control, directory, consoleUrl, sso, now, monotonicMs, onError } = options;
		this.signIn = new SignIn({ control, directory, now, monotonicMs });
		this.consoleUrl = consoleUrl;
		this.sso = sso && new SingleSignOn(sso, consoleUrl);
		this.#control = control;
		this.#now = now;
		this.#onError = onError;
	}

	/** Who asks; undefined where nobody has signed in. */
	signedIn(request: ConsoleRequest): Promise<OpenSession | undefined> {
		return this.signIn.of(this.#cookie(request).read(request.headers));
	}

	/** @param purpose of another cookie than that of the session */
	#cookie(request: ConsoleRequest, purpose?: string): SessionCookie {
		return new SessionCookie(this.#isSecure(request), new URL(this.consoleUrl).port, purpose);
	}

	#isSecure({ isSecure }: ConsoleRequest): boolean {
		return isSecure || this.consoleUrl.startsWith('https:');
	}

	/** Whether a form is from a page of the console that this person was shown. */
	isOwnForm({ headers }: ConsoleRequest, form: URLSearchParams, { token }: OpenSession): boolean {
		return isFromConsole(headers, this.consoleUrl) && isFormToken(form.get('token') ?? undefined, token);
	}

	/** Whether somebody has just shown who they are in another way than by their password. */
	isFresh({ session }: OpenSession): boolean {
		return session.method !== 'password' && this.#now() - session.createdAtMs < freshMs;
	}

	/** Leads to the sign-in, and from there back to the page that was asked for. */
	toSignIn({ path, query, method }: ConsoleRequest): ConsoleAnswer {
		const to = method === 'GET' ? `${path}${query && `?${query}`}` : '';
		const isHome = ['', '/', '/console', '/console/'].includes(to);
		return redirect(isHome ? signInPath : `${signInPath}?to=${encodeURIComponent(to)}`);
	}

	/** Answers what is for everybody; undefined for all other paths. */
	async answer(request: ConsoleRequest): Promise<ConsoleAnswer | undefined> {
		const { path, method } = request;
		if (!this.#isSecure(request) && !isLocal(request.address)) return needsTls();
		if (path === '/console/sign-out' && method === 'POST') return this.#signOut(request);
		if (path === signInPath) return method === 'POST' ? this.#take(request) : this.#show(request);
		if (path === ssoPath && method === 'GET') return this.#depart(request);
		if (path === returnPath && method === 'GET') return this.#arrive(request);
		return undefined;
	}

	async #show(request: ConsoleRequest): Promise<ConsoleAnswer> {
		const query = new URLSearchParams(request.query);
		const to = query.get('to') ?? '';
		const link = query.get('link');
		if (link === null) {
			if (await this.signedIn(request)) return redirect(destinationOf(to));
			return this.#form(200, { to });
		}
		const email = await this.signIn.linkOf(link);
		return email === undefined ? this.#form(410, { problem: problems.link, to }) : linkPage(email, link, to);
	}

	async #take(request: ConsoleRequest): Promise<ConsoleAnswer> {
		if (!isFromConsole(request.headers, this.consoleUrl)) return refusedForm(this.consoleUrl);
		const form = new URLSearchParams(request.form);
		const field = (name: string) => form.get(name) ?? '';
		const [to, email] = [field('to'), field('email')];
		const client = signInClientOf(request);
		if (form.has('link')) {
			const outcome = await this.signIn.withLink(field('link'), client);
			return this.#next(request, outcome, { to, problem: problems.link, isByLink: true });
		}
		if (form.has('second')) {
			const outcome = await this.signIn.withCode(field('second'), field('code'), client);
			const problem = outcome === 'refused' ? problems.expired : problems.code;
			return this.#next(request, outcome, { to, problem, asksAgain: true });
		}
		const outcome = await this.signIn
			.withPassword(normalised(email), field('password'), client)
			.catch((error) => {
				if (error instanceof QueueFullError) return { retryAfterMs: 5000 };
				throw error;
			});
		return this.#next(request, outcome, { to, email, problem: problems.refused });
	}

	async #next(
		request: ConsoleRequest,
		outcome: SignInOutcome,
		shown: { to: string; problem: string; email?: string; isByLink?: boolean; asksAgain?: boolean },
	): Promise<ConsoleAnswer> {
		const { to, problem, isByLink, asksAgain } = shown;
		if (outcome === 'refused') return this.#form(isByLink ? 410 : 401, shown);
		if ('retryAfterMs' in outcome) {
			const seconds = Math.ceil(outcome.retryAfterMs / 1000);
			const wait = `Too many attempts. Try again in ${seconds} s, or sign in with a link.`;
			const answer = this.#form(429, { ...shown, problem: wait });
			return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } };
		}
		if ('secondFactor' in outcome) return codePage(outcome.secondFactor, to, asksAgain ? problem : undefined);
		const before = await this.signedIn(request);
		if (before) await this.signIn.end(before);
		const { hasPassword, issuer } = await this.#control.people.find(outcome.email);
		// A link is good once, so the next sign-in needs another way.
		const isFirst = isByLink && !hasPassword && issuer === null;
		return redirect(isFirst ? '/console/account' : destinationOf(to), {
			'set-cookie': this.#cookie(request).set(outcome.token),
		});
	}

	async #signOut(request: ConsoleRequest): Promise<ConsoleAnswer> {
		const open = await this.signedIn(request);
		if (!open) return redirect(signInPath, { 'set-cookie': this.#cookie(request).clear() });
		if (!this.isOwnForm(request, new URLSearchParams(request.form), open))
			return refusedForm(this.consoleUrl);
		await this.signIn.end(open);
		await this.#control.audit.add({ who: open.person.email, action: 'signed out' });
		return redirect(signInPath, { 'set-cookie': this.#cookie(request).clear() });
	}

	/** Leads to the provider. With `connect`, to tie the identity to whoever has signed in, and only from the console's own page. */
	async #depart(request: ConsoleRequest): Promise<ConsoleAnswer> {
		if (!this.sso) return this.#form(404, {});
		const query = new URLSearchParams(request.query);
		const connects = query.has('connect');
		// Else another site could tie its own identity to whoever follows a link.
		if (connects && request.headers['sec-fetch-site'] !== 'same-origin') return refusedForm(this.consoleUrl);
		try {
			const { address, kept } = await this.sso.depart();
			const to = destinationOf(query.get('to') ?? '');
			const journey = `${kept}.${connects ? 'connect' : 'enter'}.${Buffer.from(to).toString('base64url')}`;
			return redirect(address, { 'set-cookie': this.#cookie(request, 'sso').set(journey, journeySeconds) });
		} catch (error) {
			this.#onError(error, ssoPath);
			return this.#form(502, { problem: problems.sso });
		}
	}

	async #arrive(request: ConsoleRequest): Promise<ConsoleAnswer> {
		const clear = this.#cookie(request, 'sso').clear();
		const withClear = ({ headers, ...rest }: ConsoleAnswer) => ({
			...rest,
			headers: { ...headers, 'set-cookie': clear },
		});
		const journey = this.#cookie(request, 'sso').read(request.headers);
		if (!this.sso || journey === undefined) return this.#form(400, { problem: problems.sso });
		const parts = journey.split('.');
		try {
			const identity = await this.sso.arrive(request.query, parts.slice(0, 3).join('.'));
			if (parts[3] === 'connect') {
				const open = await this.signedIn(request);
				if (!open) return withClear(redirect(signInPath));
				const isTied = await this.#control.people.setIdentity(open.person.id, identity);
				if (isTied)
					await this.#control.audit.add({ who: open.person.email, action: 'single sign-on connected' });
				return withClear(redirect(`/console/account${isTied ? '' : '?sso=taken'}`));
			}
			const person = await this.#control.people.withIdentity(identity);
			if (!person) return withClear(this.#form(403, { problem: problems.stranger }));
			const { token } = await this.signIn.begin(person.id, person.email, 'sso', signInClientOf(request));
			const to = destinationOf(Buffer.from(parts[4] ?? '', 'base64url').toString());
			return redirect(to, { 'set-cookie': [clear, this.#cookie(request).set(token)] });
		} catch (error) {
			// The library says at first only that something was wrong.
			this.#onError(error instanceof Error && error.cause ? error.cause : error, returnPath);
			return withClear(this.#form(400, { problem: problems.sso }));
		}
	}

	#form(status: number, shown: { to?: string; email?: string; problem?: string }): ConsoleAnswer {
		const { to = '', email = '', problem } = shown;
		const back = to && `?to=${encodeURIComponent(to)}`;
		return page(
			status,
			'Sign in',
			html`${problem && html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="${signInPath}">
<input type="hidden" name="to" value="${to}">
<p><label>Email address <input type="email" name="email" value="${email}" autocomplete="username" required></label></p>
<p><label>Password <input type="password" name="password" autocomplete="current-password" required></label></p>
<p><button>Sign in</button></p>
</form>
${this.sso && html`<p><a href="${ssoPath}${back}">Sign in through ${this.sso.host}</a></p>`}
<p class="hint">No password, or forgotten? Whoever may run commands on the server makes a link: <code>npx caskade user link EMAIL</code></p>`,
		);
	}
}

/** Looking at it leaves the link as it is: filters of mail follow links. */
function linkPage(email: string, link: string, to: string): ConsoleAnswer {
	const answer = page(
		200,
		'Sign in',
		html`<p>This link signs you in once, as <strong>${email}</strong>.</p>
<form method="post" action="${signInPath}">
<input type="hidden" name="link" value="${link}">
<input type="hidden" name="to" value="${to}">
<p><button>Sign in</button></p>
</form>`,
	);
	return { ...answer, headers: { ...answer.headers, 'referrer-policy': 'no-referrer' } };
}

function codePage(second: string, to: string, problem: string | undefined): ConsoleAnswer {
	return page(
		problem === undefined ? 200 : 401,
		'Second factor',
		html`${problem && html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="${signInPath}">
<input type="hidden" name="second" value="${second}">
<input type="hidden" name="to" value="${to}">
<p><label>The six digits that your app shows, or a recovery code <input name="code" autocomplete="one-time-code" required></label></p>
<p><button>Sign in</button></p>
</form>`,
	);
}

function needsTls(): ConsoleAnswer {
	return page(
		403,
		'Refused',
		html`<p class="problem" role="alert">Passwords do not cross a network by plain http. Ask for the console by https; where a proxy does that, it says so with X-Forwarded-Proto, or --console-url does.</p>`,
	);
}

function refusedForm(consoleUrl: string): ConsoleAnswer {
	return page(
		403,
		'Refused',
		html`<p class="problem" role="alert">This form does not come from a page of the console at ${consoleUrl}. If that is not where you see it, set --console-url to its address.</p>
<p><a href="${signInPath}">Sign in</a></p>`,
	);
}

function page(status: number, title: string, body: Html): ConsoleAnswer {
	return {
		status,
		headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
		body: layout({ title, body }),
	};
}

/** A page of the console, and nothing else: an address that somebody has sent must not lead away from it. */
function destinationOf(to: string): string {
	return /^\/console\/[\w./~%?&=+:,-]*$/.test(to) && !to.startsWith(signInPath) ? to : '/console/';
}

/** Whoever asks, for the limit of guesses and the list of sessions. */
export function signInClientOf({ address, headers }: ConsoleRequest): SignInClient {
	return { address: address || undefined, agent: agentInWords(headers['user-agent']) };
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
