import { agentInWords } from '../../core/collect/device.ts';
import type { MeasuredFigure } from '../../core/metrics.ts';
import type { SignInClient } from '../person.ts';

/** Where the page of the system is. What the serving thread knows is sent along with requests for it. */
export const systemPath = '/console/system';

/** What only the thread that serves knows. */
export interface ServingState {
	/** Milliseconds since 1970. */
	readonly startedAtMs: number;
	readonly figures: readonly MeasuredFigure[];
}

/** A provider of single sign-on, by OpenID Connect. */
export interface SsoSettings {
	/** The address that it names itself by; its settings are read beneath it. */
	readonly issuer: string;
	readonly clientId: string;
	readonly clientSecret: string;
}

/** A request to the console. Plain data: it is passed to a thread. */
export interface ConsoleRequest {
	readonly method: string;
	/** Without the query. */
	readonly path: string;
	/** Without the question mark. */
	readonly query: string;
	/** The body of a form, as it was sent; empty for other requests. */
	readonly form: string;
	readonly headers: Readonly<Record<string, string | undefined>>;
	/** Of the client, behind proxies that are trusted. */
	readonly address: string;
	/** Whether the client has reached the server, or a proxy that is trusted, by TLS. */
	readonly isSecure: boolean;
	/** Whether plain http has not left the client's machine, but by a tunnel or into a container. */
	readonly isByLoopback?: boolean;
	/** Whether a page that somebody looks at is asked for anew, by no act of theirs. */
	readonly isAnew?: boolean;
	readonly serving?: ServingState;
}

/** What a request asks for, with its query. */
export function addressOf({ path, query }: Pick<ConsoleRequest, 'path' | 'query'>): string {
	return query === '' ? path : `${path}?${query}`;
}

export interface ConsoleAnswer {
	/** Who has asked, where somebody has signed in. It is not sent. */
	readonly personId?: string;
	/** Where the page is not as it will be: when to ask again. */
	readonly againAfterMs?: number;
	readonly status: number;
	readonly headers: Readonly<Record<string, string | readonly string[]>>;
	readonly body: string;
}

/** Leads to another page of the console. The browser asks for it with GET. */
export function redirect(path: string, headers: ConsoleAnswer['headers'] = {}): ConsoleAnswer {
	return { status: 303, headers: { location: path, ...headers }, body: '' };
}

/** Without it, Excel takes UTF-8 for the encoding of its country: Ã¼ for ü. */
const byteOrderMark = '\ufeff';

/** A file that the browser saves. @param name ends with .csv or .json */
export function download(name: string, content: string): ConsoleAnswer {
	const isCsv = name.endsWith('.csv');
	const type = isCsv ? 'text/csv' : 'application/json';
	const body = isCsv ? `${byteOrderMark}${content}` : content;
	return {
		status: 200,
		headers: {
			'content-type': `${type}; charset=utf-8`,
			'content-disposition': `attachment; filename="${name}"`,
			'cache-control': 'no-store',
		},
		body,
	};
}

/** Whoever asks, for the limit of guesses and the list of sessions. */
export function signInClientOf({ address, headers }: ConsoleRequest): SignInClient {
	return { address: address || undefined, agent: agentInWords(headers['user-agent']) };
}
