import { OperatorError } from '../errors.ts';
import { type HtmlValue, html } from '../format/html.ts';
import { signInClientOf } from './exchange.ts';
import type { Asked } from './page.ts';

/** @throws OperatorError where the code of the form is not right */
export async function requireCode({ signIn, person, form, request }: Asked): Promise<void> {
	const guess = await signIn.guessCode(person.email, form.get('code') ?? '', signInClientOf(request));
	if (guess !== true) throw notRight(guess, 'The code');
}

/** @throws OperatorError where the password of the form's field is not right */
export async function requirePassword(
	{ signIn, person, form, request }: Asked,
	field: string,
	what: string,
): Promise<void> {
	const guess = await signIn.guessPassword(person.email, form.get(field) ?? '', signInClientOf(request));
	if (guess !== person.id) throw notRight(guess, what);
}

function notRight(guess: unknown, what: string): OperatorError {
	const waits = typeof guess === 'object' && guess !== null && 'retryAfterMs' in guess;
	return new OperatorError(
		waits
			? `Too many attempts. Try again in ${Math.ceil(Number(guess.retryAfterMs) / 1000)} s.`
			: `${what} is not right, or was used before.`,
	);
}

/** How the person shows once more who they are, before data leaves or goes. */
async function proofOf(asked: Asked): Promise<'none' | 'code' | 'password' | 'again'> {
	if (asked.isFresh) return 'none';
	const { hasSecondFactor, hasPassword } = await asked.store.control.people.find(asked.person.email);
	return hasSecondFactor ? 'code' : hasPassword ? 'password' : 'again';
}

/** The field of a form by which the person shows once more who they are. */
export async function proofField(asked: Asked): Promise<HtmlValue> {
	const proof = await proofOf(asked);
	if (proof === 'code')
		return html`<p><label>Code of your second factor <input name="code" autocomplete="one-time-code" required></label></p>`;
	if (proof === 'password')
		return html`<p><label>Your password <input type="password" name="password" autocomplete="current-password" required></label></p>`;
	return (
		proof === 'again' &&
		html`<p class="hint">This takes a sign-in that is at most 15 minutes old. Sign out, and in again.</p>`
	);
}

/** @throws OperatorError where the person has not shown who they are: by that field, or by having just signed in */
export async function requireProof(asked: Asked): Promise<void> {
	const proof = await proofOf(asked);
	if (proof === 'code') await requireCode(asked);
	if (proof === 'password') await requirePassword(asked, 'password', 'The password');
	if (proof === 'again')
		throw new OperatorError(
			'Sign out and in again first: this takes a sign-in that is at most 15 minutes old.',
		);
}
