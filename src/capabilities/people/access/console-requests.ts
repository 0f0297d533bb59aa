import type { IncomingHttpHeaders } from 'node:http';
import { sessionLifetime } from '../../../kit/person.ts';

/**
 * Whether a request that writes comes from a page of the console. `same-site` is not enough: a shop's page, and who has
 * broken into it, may be of the same site as the console. Behind a proxy, `host` proves nothing, so an `origin` counts only
 * where it is the address that the operator has named. Browsers send one of the two with every form.
 */
export function isFromConsole(headers: IncomingHttpHeaders, consoleUrl: string): boolean {
	const site = headers['sec-fetch-site'];
	if (site !== undefined) return site === 'same-origin';
	return headers.origin !== undefined && headers.origin === new URL(consoleUrl).origin;
}

/**
 * The cookie that holds the token of a session. Browsers refuse a `__Host-` cookie from another host, without `Secure`, or
 * over plain http. That is for this machine alone; as cookies ignore ports, the name there has the port.
 * `Lax`, so that who follows a link to a page is still signed in.
 */
export class SessionCookie {
	readonly #name: string;
	readonly #attributes: string;

	/**
	 * @param isSecure whether the browser has asked by https
	 * @param port of the console
	 * @param purpose of another cookie than that of the session
	 */
	constructor(isSecure: boolean, port: string, purpose?: string) {
		this.#name = `${isSecure ? '__Host-caskade' : `caskade-${port || 80}`}${purpose === undefined ? '' : `-${purpose}`}`;
		this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
	}

	/** The token in a request's cookies. */
	read({ cookie }: IncomingHttpHeaders): string | undefined {
		const start = `${this.#name}=`;
		const found = (cookie ?? '').split('; ').filter((pair) => pair.startsWith(start));
		// Two of one name: somebody else has set one of them.
		return found.length === 1 ? found[0]?.slice(start.length) || undefined : undefined;
	}

	/** The value of `set-cookie` that begins a session, for as long as sessions last by default. */
	set(token: string, seconds = sessionLifetime.ms / 1000): string {
		return `${this.#name}=${token}; ${this.#attributes}; Max-Age=${seconds}`;
	}

	/** The value of `set-cookie` that ends it. */
	clear(): string {
		return `${this.#name}=; ${this.#attributes}; Max-Age=0`;
	}
}
