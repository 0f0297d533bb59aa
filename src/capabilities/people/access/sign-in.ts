import type { AccessDirectory } from '../../../core/access/directory.ts';
import { TokenBuckets } from '../../../core/access/token-buckets.ts';
import { networkOf } from '../../../core/domain/client-address.ts';
import type { RateLimit } from '../../../core/domain/token-bucket.ts';
import { hourMs, minuteMs } from '../../../core/durations.ts';
import type { ControlStore } from '../../../core/store/control/control-store.ts';
import type { OpenSession, SignInClient } from '../../../kit/person.ts';
import { isLive, type Person, type SignInMethod } from '../../../kit/person.ts';
import { isPassword } from './passwords.ts';
import { hashRecoveryCode, stepOf } from './second-factor.ts';
import { hashToken, newToken } from './tokens.ts';

/** How long the link of `caskade user create` is good for. */
export const linkLifetimeMs = 15 * minuteMs;
/** How long who has given a password may look for their telephone. */
const secondFactorMs = 5 * minuteMs;
/** Ten guesses at one person's password, then one a minute. */
const perName: RateLimit = { ratePerSecond: 1 / 60, burst: 10 };
/** An office behind one address may mistype more often. */
const perAddress: RateLimit = { ratePerSecond: 1 / 10, burst: 30 };
/** Entries of the audit log about guesses at one person's password or code: whoever goes on guessing does not fill it. */
const perNote: RateLimit = { ratePerSecond: 1 / 3600, burst: 5 };
/** Within so long, at a time that tells nobody whether there is such a person, a wrong guess is in the audit log. */
const notedWithinMs = 200;
/** So many names and addresses are told apart, in 384 KiB. */
const bucketSlots = 16 * 1024;
/** How exactly it is known when a session was last used. */
const touchEveryMs = hourMs;

export type SignInOutcome =
	/** The token of the session that has begun. */
	| { readonly token: string; readonly email: string }
	/** A second factor is missing; with this token `withCode` takes it. */
	| { readonly secondFactor: string }
	/** Too many guesses. */
	| { readonly retryAfterMs: number }
	| 'refused';

/** Begins, finds and ends people's sessions. */
export class SignIn {
	readonly #control: ControlStore;
	readonly #directory: AccessDirectory;
	readonly #now: () => number;
	readonly #monotonicMs: () => number;
	readonly #onError: (error: unknown, path: string) => void;
	readonly #guesses = new TokenBuckets(bucketSlots);

	constructor(options: {
		control: ControlStore;
		directory: AccessDirectory;
		/** Milliseconds since 1970. */
		now: () => number;
		monotonicMs: () => number;
		/** Something failed that is no fault of the request. */
		onError: (error: unknown, path: string) => void;
	}) {
		this.#control = options.control;
		this.#directory = options.directory;
		this.#now = options.now;
		this.#monotonicMs = options.monotonicMs;
		this.#onError = options.onError;
	}

	/** Who a session's token belongs to; undefined where it is unknown, too old or ended. */
	async of(token: string | undefined): Promise<OpenSession | undefined> {
		if (token === undefined) return undefined;
		const hash = hashToken(token);
		let found = this.#signedIn(hash);
		if (!found) {
			// Another server may have begun it a moment ago.
			await this.#directory.refresh();
			found = this.#signedIn(hash);
		}
		if (!found) return undefined;
		if (this.#now() - found.session.usedAtMs >= touchEveryMs) await this.#control.sessions.touch(hash);
		return { ...found, token };
	}

	/** Undefined where the session has ended. */
	#signedIn(hash: string): Omit<OpenSession, 'token'> | undefined {
		const { people, sessions } = this.#directory.snapshot;
		const session = sessions.get(hash);
		const person = session && people.get(session.personId);
		return person && isLive(session, this.#now()) ? { person, session } : undefined;
	}

	/** Takes as long for a person who does not exist as for one who does. */
	async withPassword(email: string, password: string, client: SignInClient): Promise<SignInOutcome> {
		const guess = await this.guessPassword(email, password, client);
		return typeof guess === 'string' ? this.#next(guess, email, 'password', client) : (guess ?? 'refused');
	}

	/** @returns the person's id where the password is theirs; undefined where it is not */
	async guessPassword(
		email: string,
		password: string,
		client: SignInClient,
	): Promise<string | { retryAfterMs: number } | undefined> {
		const retryAfterMs = this.#guess(email, client);
		if (retryAfterMs > 0) return { retryAfterMs };
		const person = await this.#control.people.credentials(email);
		const isRight = await isPassword(password, person?.password ?? null);
		if (person && !isRight) this.#noteWrong('password', email);
		return person && isRight ? person.id : undefined;
	}

	/** Whom a link would sign in; undefined where it is used up or too old. Leaves it as it is: mail filters follow links. */
	async linkOf(token: string): Promise<string | undefined> {
		const link = await this.#control.sessions.linkOf(hashToken(token));
		return link?.proves === null ? link.email : undefined;
	}

	/** Uses a link up. */
	async withLink(token: string, client: SignInClient): Promise<SignInOutcome> {
		const email = await this.linkOf(token);
		const person = email === undefined ? undefined : await this.#control.people.credentials(email);
		if (!person || !(await this.#control.sessions.useLink(hashToken(token)))) return 'refused';
		return this.#next(person.id, person.email, 'link', client);
	}

	/** Uses a link of a person up, as a proof of who they are. @returns whether it was theirs, and good */
	async spendLink(token: string, email: string): Promise<boolean> {
		return (await this.linkOf(token)) === email && this.#control.sessions.useLink(hashToken(token));
	}

	/** A link for a person who has just shown who they are, as a token. @param lifetimeMs how long it is good for */
	async linkFor(id: string, lifetimeMs: number): Promise<string> {
		const token = newToken();
		await this.#control.sessions.addLink(id, { hash: hashToken(token), proves: null, lifetimeMs });
		return token;
	}

	/** Takes the second factor after the first: a current code that was not used before, or a recovery code. */
	async withCode(token: string, code: string, client: SignInClient): Promise<SignInOutcome> {
		const link = await this.#control.sessions.linkOf(hashToken(token));
		if (!link || link.proves === null) return 'refused';
		const guess = await this.guessCode(link.email, code, client);
		if (typeof guess === 'object') return guess;
		const person = await this.#control.people.credentials(link.email);
		if (!person || !guess) return { secondFactor: token };
		if (!(await this.#control.sessions.useLink(hashToken(token)))) return 'refused';
		return this.begin(person.id, person.email, link.proves, client);
	}

	/** Uses up a code or a recovery code. A first code proves a secret that was offered. @returns whether it was right */
	async guessCode(
		email: string,
		code: string,
		client: SignInClient,
	): Promise<boolean | { retryAfterMs: number }> {
		const retryAfterMs = this.#guess(`code ${email}`, client);
		if (retryAfterMs > 0) return { retryAfterMs };
		const person = await this.#control.people.credentials(email);
		if (!person || person.totpSecret === null) return false;
		const isRight = await this.#isCode(person.id, person.totpSecret, code);
		if (!isRight) this.#noteWrong('code', email);
		return isRight;
	}

	#isCode(id: string, totpSecret: string, code: string): Promise<boolean> | boolean {
		const digits = code.replaceAll(/\s/g, '');
		if (!/^\d{6}$/.test(digits)) return this.#control.people.useRecoveryCode(id, hashRecoveryCode(code));
		const step = stepOf(totpSecret, digits, this.#now());
		return step !== undefined && this.#control.people.useStep(id, step);
	}

	#noteWrong(what: 'password' | 'code', email: string): void {
		if (!this.#guesses.take(`wrong ${what} ${email}`, perNote, this.#monotonicMs()).granted) return;
		const note = async () =>
			this.#control.audit.add({ who: 'somebody', action: `wrong ${what}`, about: email });
		const noteSoon = () => note().catch((error) => this.#onError(error, 'sign-in'));
		setTimeout(noteSoon, notedWithinMs * Math.random()).unref();
	}

	async #next(id: string, email: string, method: SignInMethod, client: SignInClient): Promise<SignInOutcome> {
		const person = await this.#control.people.credentials(email);
		if (person?.totpStep === null) return this.begin(id, email, method, client);
		const token = newToken();
		await this.#control.sessions.addLink(id, {
			hash: hashToken(token),
			proves: method,
			lifetimeMs: secondFactorMs,
		});
		return { secondFactor: token };
	}

	/** Begins a session of somebody who has proved to be that person. */
	async begin(
		id: string,
		email: string,
		method: SignInMethod,
		{ agent }: SignInClient,
	): Promise<{ token: string; email: string }> {
		const token = newToken();
		await this.#control.sessions.begin(id, { hash: hashToken(token), method, agent });
		await this.#control.audit.add({ who: email, action: `signed in by ${method}` });
		await this.#directory.refresh();
		return { token, email };
	}

	/** Ends one session. */
	async end({ person, session }: Pick<OpenSession, 'person' | 'session'>): Promise<void> {
		await this.#control.sessions.end(person.email, { id: session.hash });
		await this.#directory.refresh();
	}

	/** @returns how long to wait; 0 where a guess is allowed */
	#guess(name: string, { address }: SignInClient): number {
		const nowMs = this.#monotonicMs();
		const byAddress = this.#guesses.take(`address ${networkOf(address)}`, perAddress, nowMs);
		if (!byAddress.granted) return byAddress.retryAfterMs;
		return this.#guesses.take(`name ${name}`, perName, nowMs).retryAfterMs;
	}
}

/** The token of a link that somebody has pasted. */
export function linkTokenOf(text: string): string | undefined {
	return /(?:^|[?&]link=)([\w-]{43})(?:$|[&#])/.exec(text.trim())?.[1];
}

/** Makes a link with which a person signs in once. */
export async function newLoginLink(
	control: ControlStore,
	{ id, email }: Pick<Person, 'id' | 'email'>,
	consoleUrl: string,
): Promise<{ email: string; link: string; expiresAt: string }> {
	const token = newToken();
	const { expiresAtMs } = await control.sessions.addLink(id, {
		hash: hashToken(token),
		proves: null,
		lifetimeMs: linkLifetimeMs,
	});
	const link = `${consoleUrl}/console/sign-in?link=${token}`;
	return { email, link, expiresAt: new Date(expiresAtMs).toISOString() };
}
