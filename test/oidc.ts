import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Lasting } from './support.ts';

export interface OidcProvider {
	readonly issuer: string;
	readonly clientId: string;
	readonly clientSecret: string;
	/** The mail address of each subject, as the provider says it now. */
	readonly addresses: Map<string, string>;
	/**
	 * Signs somebody in at the provider, as a browser does.
	 * @param address where the console has led the browser to
	 * @returns where the provider leads it back to
	 */
	signIn(address: string, subject: string): Promise<URL>;
}

/** A real provider of OpenID Connect, on this machine, that believes whoever says a name. */
export async function startOidcProvider(t: Lasting, redirectUri: string): Promise<OidcProvider> {
	const { default: Provider } = await import('oidc-provider');
	let handle: Parameters<Server['on']>[1] = () => {};
	const server = createServer((request, response) => handle(request, response));
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	t.after(() => {
		server.close();
		server.closeAllConnections();
	});
	const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const [clientId, clientSecret] = ['caskade', 'a secret of the client'];
	const addresses = new Map<string, string>();
	const provider = new Provider(issuer, {
		clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
		cookies: { keys: ['a key of the cookies'] },
		features: { devInteractions: { enabled: true } },
		claims: { openid: ['sub', 'email'] },
		findAccount: (_context: unknown, subject: string) => ({
			accountId: subject,
			claims: () => ({ sub: subject, email: addresses.get(subject), email_verified: true }),
		}),
	});
	handle = provider.callback();
	const signIn = async (address: string, subject: string) => {
		const cookies = new Map<string, string>();
		let [url, form]: [URL, Record<string, string> | undefined] = [new URL(address), undefined];
		while (url.origin === issuer) {
			const response = await fetch(url, {
				method: form ? 'POST' : 'GET',
				...(form && { body: new URLSearchParams(form) }),
				redirect: 'manual',
				headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
			});
			for (const line of response.headers.getSetCookie()) {
				const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
				cookies.set(name, value);
			}
			const location = response.headers.get('location');
			const page = await response.text();
			if (location !== null) {
				[url, form] = [new URL(location, url), undefined];
				continue;
			}
			const [, action, prompt] =
				/action="([^"]+)"[^>]*>\s*<input[^>]*name="prompt" value="(\w+)"/.exec(page) ?? [];
			if (action === undefined || prompt === undefined) throw new Error(`${response.status}: ${page}`);
			[url, form] = [new URL(action, url), { prompt, login: subject, password: 'any' }];
		}
		return url;
	};
	return { issuer, clientId, clientSecret, addresses, signIn };
}
