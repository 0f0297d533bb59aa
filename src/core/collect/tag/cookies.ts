import type { HitAnswer } from './hit-answer.ts';

const lifetimeSeconds = 395 * 86_400; // 13 months; no browser keeps a cookie much longer
const visitSeconds = 1800;

const names = ['vid', 'sid', 'seed', 'first', 'aid'] as const;
type Name = (typeof names)[number];

/** The domain of the cookies; empty for the page's host alone. Found when it is first needed. */
let domain: string | undefined;

const now = () => Math.floor(Date.now() / 1000);

/** Sets a cookie, and reads all. In a sandboxed frame both throw; the page then has what the tag remembers. */
function jar(cookie?: string): string[] {
	try {
		// biome-ignore lint/suspicious/noDocumentCookie: many browsers have no Cookie Store
		if (cookie) document.cookie = cookie;
		return document.cookie.split('; ');
	} catch {
		return [];
	}
}

const has = (name: string) => jar().some((pair) => pair.startsWith(`vscr_${name}=`));

function write(name: string, value: string, seconds: number, of: string): void {
	const secure = location.protocol === 'https:' ? ';secure' : '';
	jar(`vscr_${name}=${value};path=/;max-age=${seconds};samesite=lax${of && `;domain=${of}`}${secure}`);
}

/**
 * Tries domains, the widest first. A browser refuses those that many sites share, and each browser knows others.
 * @param narrow the only one to be tried
 */
export function cookieDomain(narrow?: string): string {
	if (domain !== undefined) return domain;
	const { hostname } = location;
	const labels = hostname.split('.');
	domain = '';
	// An address has no wider domain.
	for (let count = 2; !domain && count <= labels.length && !/[\d\]]$/.test(hostname); count++) {
		const tried = narrow || labels.slice(-count).join('.');
		write('try', '1', 9, tried);
		if (has('try')) domain = tried;
		write('try', '', 0, tried);
	}
	return domain;
}

function setCookie(name: Name | 'off', value: string, seconds: number): void {
	const of = cookieDomain();
	// An earlier version has set it for the host alone.
	if (of) write(name, '', 0, '');
	write(name, value, seconds, of);
}

/**
 * When the browser was first seen, in seconds since 1970 and base 36, and the id. Of several cookies of one name the earliest
 * counts, else the smallest, as for the service. Cookies of earlier versions have no date.
 */
function parts(name: Name): string[] {
	const pattern = RegExp(`^vscr_${name}=([0-9a-f]{32})(?:\\.(\\w+))?$`);
	const found = jar().flatMap((pair) => {
		const match = pattern.exec(pair);
		return match ? `${match[2] || '~'}.${match[1]}` : [];
	});
	return found.sort()[0]?.split('.') ?? [];
}

export function cookie(name: Name): string | undefined {
	return parts(name)[1];
}

/** Until 13 months after the first sight, however often the browser comes. Without an id there is nothing to keep. */
function keep(name: Name, id: string | undefined): void {
	const first = parseInt(parts('vid')[0] || parts('seed')[0] || '', 36);
	// A date in the future was written by a wrong clock.
	const since = first < now() ? first : now();
	setCookie(name, `${id}.${since.toString(36)}`, id ? since + lifetimeSeconds - now() : 0);
}

/**
 * What this browser is called until it has a `vid`. Kept before it is sent; other tabs find it, and so does another account of
 * the site, for which it is another visitor.
 */
export function seedOf(made?: string): string {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	// Not by `Array.from`: Prototype.js replaces it with one that takes no function.
	const seed =
		cookie('seed') || made || bytes.reduce((text, byte) => text + (byte + 256).toString(16).slice(1), '');
	keep('seed', seed);
	return seed;
}

/** Whether the other cookies may be this account's. Those of an earlier version do not say. */
export function areOf(aid: string): boolean {
	return !has('aid') || jar().includes(`vscr_aid=${aid}`);
}

export function keepCookies({ vid, sid, firstVid, hasCookies }: HitAnswer, aid: string): void {
	// What a script has written, Safari keeps for seven days.
	if (!hasCookies || cookie('vid') !== vid) {
		keep('vid', vid);
		keep('first', firstVid);
	}
	setCookie('sid', sid, visitSeconds);
	setCookie('aid', aid, lifetimeSeconds);
}

/** Whether this browser is not to be counted, by the link that its user has followed once. */
export function isOptedOut(): boolean {
	return jar().includes('vscr_off=1');
}

export function optOut(isOut: boolean): void {
	setCookie('off', isOut ? '1' : '', isOut ? lifetimeSeconds : 0);
}

export function deleteCookies(): void {
	for (const name of names) if (has(name)) setCookie(name, '', 0);
}
