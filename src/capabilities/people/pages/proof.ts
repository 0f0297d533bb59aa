import { OperatorError } from '../../../core/errors.ts';
import { addressOf, signInClientOf } from '../../../kit/console/exchange.ts';
import { hiddenFields } from '../../../kit/console/form.ts';
import { type ConsolePage, demandOf, type PageRequest, type Question } from '../../../kit/console/page.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { linkTokenOf, type SignIn } from '../access/sign-in.ts';
import type { SingleSignOn } from '../access/single-sign-on.ts';

declare module '../../../kit/console/page.ts' {
	interface EntranceFacts {
		readonly signIn: SignIn;
		/** Undefined where none is set up. */
		readonly sso: SingleSignOn | undefined;
	}
}

/** How the person shows once more who they are. */
type Way = 'none' | 'code' | 'password' | 'link';

/** The field of a form that has the proof. */
const fieldOfWay = { code: 'code', password: 'password', link: 'link' } as const;

/** The fields of a question's answer and of proofs, which a form does not send again, and new passwords, which no page repeats. */
const notRepeated = new Set(['token', 'code', 'password', 'link', 'confirm', 'new', 'again']);

/** @throws OperatorError where the code of the form is not right */
export async function requireCode({ signIn, person, form, request }: PageRequest): Promise<void> {
	const guess = await signIn.guessCode(person.email, form.get('code') ?? '', signInClientOf(request));
	if (guess !== true) throw notRight(guess, 'The code');
}

async function requirePassword({ signIn, person, form, request }: PageRequest): Promise<void> {
	const guess = await signIn.guessPassword(person.email, form.get('password') ?? '', signInClientOf(request));
	if (guess !== person.id) throw notRight(guess, 'The password');
}

function notRight(guess: unknown, what: string): OperatorError {
	const waits = typeof guess === 'object' && guess !== null && 'retryAfterMs' in guess;
	return new OperatorError(
		waits
			? `Too many attempts. Try again in ${Math.ceil(Number(guess.retryAfterMs) / 1000)} s.`
			: `${what} is not right, or was used before.`,
	);
}

/** Takes a link of that person, or what the way back from single sign-on has left. */
async function requireLink({ signIn, person, form, shownIdentity }: PageRequest): Promise<void> {
	for (const token of [shownIdentity, linkTokenOf(form.get('link') ?? '')])
		if (token !== undefined && (await signIn.spendLink(token, person.email))) return;
	throw new OperatorError(
		form.get('link')
			? 'The link is not yours, was used before, or is older than 15 minutes.'
			: 'A new sign-in link is needed, or single sign-on.',
	);
}

async function wayOf(asked: PageRequest): Promise<Way> {
	if (asked.isFresh) return 'none';
	const { hasSecondFactor, hasPassword } = await asked.store.control.people.find(asked.person.email);
	return hasSecondFactor ? 'code' : hasPassword ? 'password' : 'link';
}

/** The field by which the person shows once more who they are, for a form that has it from the start. */
export async function proofField(asked: PageRequest): Promise<HtmlValue> {
	return fieldFor(await wayOf(asked), asked);
}

function fieldFor(way: Way, { sso, person }: PageRequest): HtmlValue {
	if (way === 'code')
		return html`<p><label>Code of your second factor <input name="code" autocomplete="one-time-code" required></label></p>`;
	if (way === 'password')
		return html`<p><label>Your password <input type="password" name="password" autocomplete="current-password" required></label></p>`;
	if (way === 'none') return null;
	return html`${sso && html`<p><a href="/console/sign-in/sso?prove=1" target="_blank">Confirm through ${sso.host} that it is you</a>, in another window, and then send this form.</p>`}
<p><label>A new sign-in link <input name="link" autocomplete="off"></label> <span class="hint">Ask an administrator for one, and paste it here without opening it. It is made on the page People, or with <code>caskade user link ${person.email}</code>. Next time a password is enough, if you set one on the page <a href="/console/account" target="_blank">Your account</a>.</span></p>`;
}

/**
 * The one place that demands a proof. Asks what an act takes, in place: what was typed goes along.
 * @param act the form's action, or `get`
 * @returns undefined where the act may be done; else the page that asks
 */
export async function missingProof(
	asked: PageRequest,
	page: ConsolePage,
	act: string,
): Promise<Html | undefined> {
	const demand = demandOf(page, act);
	const question = act === 'get' ? undefined : await page.questions?.[act]?.(asked);
	const way = demand === 'session' ? 'none' : demand === 'code' ? 'code' : await wayOf(asked);
	const { form } = asked;
	const agreed = question?.name ?? 'yes';
	let problem: string | undefined;
	// A code or a link is good once, so it is not taken before the rest is right.
	if (question && form.get('confirm')?.trim() !== agreed) {
		if (form.get('confirm')) problem = `Type ${agreed}, as it stands here.`;
	} else {
		if (way === 'none') return undefined;
		try {
			await { code: requireCode, password: requirePassword, link: requireLink }[way](asked);
			return undefined;
		} catch (error) {
			if (!(error instanceof OperatorError)) throw error;
			if (form.get(fieldOfWay[way])) problem = error.message;
		}
	}
	return askingPage(asked, { act, question, way, problem });
}

function askingPage(
	asked: PageRequest,
	{
		act,
		question,
		way,
		problem,
	}: { act: string; question?: Question | undefined; way: Way; problem?: string | undefined },
): Html {
	const { request, form, formToken } = asked;
	const kept = [...form].filter(([name]) => !notRepeated.has(name));
	const path = addressOf(request);
	const isFile = act === 'get';
	return html`${problem && html`<p class="problem" role="alert">${problem}</p>`}
${question?.what}
${way !== 'none' && html`<p>Confirm that it is you. ${!isFile && !form.has('new') && 'What you have typed is kept.'}</p>`}
<form method="post" action="${path}">
${hiddenFields({ token: formToken, ...(isFile && { action: 'download' }) })}${kept.map((pair) => hiddenFields(Object.fromEntries([pair])))}
${form.has('new') && newPasswordFields}
${question && (question.name === undefined ? hiddenFields({ confirm: 'yes' }) : html`<p><label>To confirm, type <strong>${question.name}</strong> <input name="confirm" value="${form.get('confirm')}" autocomplete="off" required></label></p>`)}
${fieldFor(way, asked)}
<button${question && html` class="danger"`}>${isFile ? 'Download' : question ? 'Confirm' : 'Go on'}</button>
</form>
<p><a href="${isFile ? request.path.replace(/\/[^/]*$/, '') : path}">Cancel</a></p>`;
}

/** Typed once more where a proof was missing: no page repeats a password. */
export const newPasswordFields = html`<p><label>New password, of 12 characters or more <input type="password" name="new" minlength="12" maxlength="256" autocomplete="new-password" required></label></p>
<p><label>The same again <input type="password" name="again" minlength="12" maxlength="256" autocomplete="new-password" required></label></p>`;
