import { OperatorError } from '../../core/errors.ts';

/** What people write in flags and parameters. Each parser throws an OperatorError that tells what would be right. */

const momentPattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/**
 * Parses a date such as 2026-11-21, whose first moment in UTC it is, or a time such as 2026-11-21T10:30:00Z, to
 * milliseconds since 1970. A time without a zone would be another one on another machine, and nothing is known of the future.
 */
export function pastMoment(value: string, nowMs: number): number {
	const [, date = ''] = momentPattern.exec(value) ?? [];
	const ms = isDay(date) ? Date.parse(value) : Number.NaN;
	if (Number.isNaN(ms))
		throw new OperatorError('It must be a date or time such as 2026-11-21 or 2026-11-21T10:30:00Z.');
	if (ms > nowMs) throw new OperatorError('It must be in the past.');
	return ms;
}

/** Parses a day such as 2026-01-31. */
export function day(value: string): string {
	if (!isDay(value)) throw new OperatorError(`${value} is not a date; write it like 2026-01-31.`);
	return value;
}

function isDay(value: string): boolean {
	try {
		return /^\d{4}-\d\d-\d\d$/.test(value) && Boolean(Temporal.PlainDate.from(value));
	} catch {
		return false;
	}
}

/** PostgreSQL stores no text with this character, and looks for none. */
export function storableText(text: string): string {
	if (text.includes('\0')) throw new OperatorError('It must have no character of the code 0.');
	return text;
}

export function wholeNumber(min: number, max: number): (value: string) => number {
	return (value) => {
		const number = Number(value);
		if (!/^\d+$/.test(value) || number < min || number > max)
			throw new OperatorError(`It must be a whole number from ${min} to ${max}.`);
		return number;
	};
}

export function positiveNumber(max: number): (value: string) => number {
	return (value) => {
		const number = Number(value);
		if (value.trim() === '' || !(number > 0 && number <= max))
			throw new OperatorError(`It must be a number above 0 and at most ${max}.`);
		return number;
	};
}

/** Parses the name of an event of a page, or the type of an upload. */
export function eventName(value: string): string {
	if (!/^\P{C}{1,255}$/u.test(value))
		throw new OperatorError('It must be 1 to 255 characters, without control characters.');
	return value;
}

/** Parses an email address, to lower case. What is left of the @ is the provider's business. */
export function emailAddress(value: string): string {
	const email = value.trim().toLowerCase();
	if (!/^[^\s@<>"',;]{1,64}@[^\s@<>"',;]{1,188}$/u.test(email))
		throw new OperatorError('It must be an email address such as ada@example.com.');
	return email;
}

/** Parses an address of pages, without a path: https://console.example.com. */
export function pageOrigin(value: string): string {
	const url = URL.canParse(value) ? new URL(value) : undefined;
	if (value.replace(/\/$/, '') !== url?.origin)
		throw new OperatorError('It must be an address without a path, such as https://console.example.com.');
	return secureAddress(url).origin;
}

/** Parses the address by which a provider of OpenID Connect names itself. */
export function issuerAddress(value: string): string {
	if (!URL.canParse(value) || /[?#]/.test(value))
		throw new OperatorError('It must be an address such as https://id.example.com.');
	secureAddress(new URL(value));
	return value;
}

function secureAddress(url: URL): URL {
	const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
	if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal))
		throw new OperatorError('It must begin with https:// unless it is on this machine.');
	return url;
}

/** Parses an account token. */
export function accountToken(value: string): string {
	if (!namePattern.test(value))
		throw new OperatorError(
			'It must be 1 to 64 letters, digits, dots, underscores or hyphens, for example c-a-acme-uk.',
		);
	return value;
}

/** Parses the name of a client, plan, goal or segment. */
export function plainName(value: string): string {
	if (!namePattern.test(value))
		throw new OperatorError('It must be 1 to 64 letters, digits, dots, underscores or hyphens.');
	return value;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Parses a name that is only shown. */
export function displayName(value: string): string {
	if (!/^[^\p{C}]{1,100}$/u.test(value) || value.trim() === '')
		throw new OperatorError('It must be 1 to 100 characters, without control characters.');
	return value;
}

/** Parses an origin of pages: https://www.example.com. To a URL, `*` is a letter of a host like others, and no page has it. */
export function webOrigin(value: string): string {
	if (!/^https?:\/\/[\w.:[\]-]+$/.test(value) || URL.parse(value)?.origin !== value)
		throw new OperatorError(
			'It must be a web origin without a path or a wildcard, such as https://www.example.com.',
		);
	return value;
}

/** Parses a host such as pay.example.com. */
export function hostName(value: string): string {
	if (!/^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(value))
		throw new OperatorError('It must be a lower-case host such as pay.example.com.');
	return value;
}

/** One of some values. @throws OperatorError */
export function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
	return (text) => {
		const found = values.find((value) => value === text);
		if (found === undefined) throw new OperatorError(`It must be one of ${values.join(', ')}.`);
		return found;
	};
}
