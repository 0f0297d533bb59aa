import type { ConsoleAnswer, ConsoleRequest } from '../../kit/console/exchange.ts';
import { html } from '../../kit/format/html.ts';

/** For as long as the browser needs to ask for the page that an act leads to. */
const shownSeconds = 20;

const doneCookie = (done: string, seconds: number) =>
	`caskade-done=${encodeURIComponent(done)}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;

/** An answer that leads to a page, which is to say what was done. */
export function leadingToDone({ headers, ...rest }: ConsoleAnswer, done: string): ConsoleAnswer {
	const isLed = rest.status === 303 && !('set-cookie' in headers);
	return { ...rest, headers: isLed ? { ...headers, 'set-cookie': doneCookie(done, shownSeconds) } : headers };
}

/**
 * What the page says once of what was done, and the header that makes it once. Others may set cookies for this host, so
 * nothing but words of acts is taken.
 */
export function doneOnce({ headers }: ConsoleRequest) {
	const done = /(?:^|; )caskade-done=((?:[a-z-]|%20)+)/.exec(headers.cookie ?? '')?.[1];
	if (done === undefined) return undefined;
	return {
		text: html`<p class="note" role="status">Done: ${done.replaceAll('%20', ' ')}.</p>`,
		headers: { 'set-cookie': doneCookie('', 0) },
	};
}
