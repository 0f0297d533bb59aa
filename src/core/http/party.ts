import type { FastifyRequest } from 'fastify';

/**
 * Where a request comes from: a page of this very origin; one of another origin of the same site, such as another subdomain;
 * or somewhere else, or nobody knows.
 */
export type Party = 'origin' | 'site' | 'third';

/** Browsers say it, and no page can change what they say. Older ones name the page's origin only. */
export function partyOf({ headers }: FastifyRequest): Party {
	const { origin } = headers;
	switch (headers['sec-fetch-site']) {
		case 'same-origin':
			return 'origin';
		case 'same-site':
			return 'site';
		case undefined:
			break;
		default:
			return 'third';
	}
	if (origin === undefined) return 'third';
	const host = headers.host ?? '';
	if (hostOf(origin) === hostOf(host)) return 'origin';
	return commonDomain(origin, host) === undefined ? 'third' : 'site';
}

/** The domain that a page's origin and a host have in common: two labels at least. An address has none. */
export function commonDomain(origin: string, host: string): string | undefined {
	const page = hostOf(origin).split('.').reverse();
	const own = hostOf(host).split('.').reverse();
	const different = page.findIndex((label, index) => label !== own[index]);
	const labels = page.slice(0, different === -1 ? page.length : different).reverse();
	return labels.length >= 2 && /^[a-z]/.test(labels.at(-1) as string) ? labels.join('.') : undefined;
}

/** Without the port: cookies know none, and some proxies leave it out. */
function hostOf(text: string): string {
	return text
		.toLowerCase()
		.replace(/^https?:\/\//, '')
		.replace(/:\d*$/, '');
}
