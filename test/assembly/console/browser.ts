import { setTimeout as sleep } from 'node:timers/promises';
import type { Console } from '../../../src/assembly/console/console.ts';
import type { ConsoleAnswer, ConsoleRequest } from '../../../src/kit/console/exchange.ts';

/** Where people reach the console of a test. */
export const consoleUrl = 'https://console.example.com';

type Headers = Readonly<Record<string, string | undefined>>;

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

export interface Shown extends ConsoleAnswer {
	/** Where it leads to. */
	readonly location: string | undefined;
}

/** Somebody at a browser, with its cookies, and without scripts. */
export class Browser {
	readonly #console: Pick<Console, 'answer'>;
	readonly #address: string;
	readonly #agent: string;
	readonly cookies = new Map<string, string>();
	/** The form token of the latest page that had one. */
	token = '';

	constructor(console: Pick<Console, 'answer'>, address = '192.0.2.1', agent = firefox) {
		this.#console = console;
		this.#address = address;
		this.#agent = agent;
	}

	get(address: string, headers: Headers = {}): Promise<Shown> {
		return this.#ask('GET', address, '', headers);
	}

	/** A page with all its figures: it asks again while the page says that some are being made. */
	async whole(address: string): Promise<Shown> {
		for (;;) {
			const shown = await this.get(address);
			if (shown.headers.refresh === undefined) return shown;
			// Threads tell of their work in between.
			await sleep(10);
		}
	}

	/** Sends a form of the console, or what a page of another site would send. */
	post(
		address: string,
		fields: Readonly<Record<string, string>>,
		headers: Headers = { 'sec-fetch-site': 'same-origin' },
	): Promise<Shown> {
		return this.#ask(
			'POST',
			address,
			new URLSearchParams({ token: this.token, ...fields }).toString(),
			headers,
		);
	}

	async #ask(method: string, address: string, form: string, headers: Headers): Promise<Shown> {
		const { pathname, search } = new URL(address, consoleUrl);
		const request: ConsoleRequest = {
			method,
			path: pathname,
			query: search.slice(1),
			form,
			address: this.#address,
			isSecure: true,
			headers: {
				cookie: [...this.cookies].map((pair) => pair.join('=')).join('; '),
				'user-agent': this.#agent,
				...headers,
			},
		};
		const answer = await this.#console.answer(request);
		for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
			const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
			if (/Max-Age=0/.test(line)) this.cookies.delete(name);
			else this.cookies.set(name, value);
		}
		this.token = /name="token" value="([^"]+)"/.exec(answer.body)?.[1] ?? this.token;
		return { ...answer, location: answer.headers.location as string | undefined };
	}

	/** Signs in with a link, as a person does. */
	async open(link: string): Promise<Shown> {
		const token = new URL(link).searchParams.get('link') as string;
		await this.get(link);
		const signedIn = await this.post('/console/sign-in', { link: token });
		await this.get('/console/account');
		return signedIn;
	}
}
