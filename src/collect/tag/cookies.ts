import type { HitAnswer } from './vscr.ts';

const lifetimeSeconds = 395 * 86_400; // 13 months; no browser keeps a cookie much longer
const visitSeconds = 1800;

type Name = 'vid' | 'sid' | 'seed' | 'first';

const now = () => Math.floor(Date.now() / 1000);

/** Reads the cookies. In a sandboxed frame they throw; the page then has what the tag remembers. */
function jar(): string {
	try {
		return document.cookie;
	} catch {
		return '';
	}
}

function setCookie(name: Name | 'off', value: string, seconds: number): void {
	const secure = location.protocol === 'https:' ? ';secure' : '';
	try {
		// biome-ignore lint/suspicious/noDocumentCookie: many browsers have no Cookie Store
		document.cookie = `vscr_${name}=${value};path=/;max-age=${seconds};samesite=lax${secure}`;
	} catch {}
}

/** The id, and in base 36 when the browser was first seen, in seconds since 1970. Cookies of earlier versions have no date. */
function parts(name: Name): string[] {
	return RegExp(`(?:^|; )vscr_${name}=([0-9a-f]{32})(?:\\.(\\w+))?(?:;|$)`).exec(jar()) ?? [];
}

export function cookie(name: Name): string | undefined {
	return parts(name)[1];
}

/** Until 13 months after the first sight, however often the browser comes. */
function keep(name: Name, id: string): void {
	const first = parseInt(parts('vid')[2] || parts('seed')[2] || '', 36);
	// A date in the future was written by a wrong clock.
	const since = first < now() ? first : now();
	setCookie(name, `${id}.${since.toString(36)}`, since + lifetimeSeconds - now());
}

/** What this browser is called until it has a `vid`. Kept before it is sent; other tabs find it. */
export function seedOf(made?: string): string {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	const seed =
		cookie('seed') || made || Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join('');
	keep('seed', seed);
	return seed;
}

export function keepCookies({ vid, sid, firstVid, hasCookies }: HitAnswer): void {
	// What a script has written, Safari keeps for seven days.
	if (!hasCookies) {
		keep('vid', vid);
		if (firstVid) keep('first', firstVid);
		else setCookie('first', '', 0);
	}
	setCookie('seed', '', 0);
	setCookie('sid', sid, visitSeconds);
}

/** Whether this browser is not to be counted, by the link that its user has followed once. */
export function isOptedOut(): boolean {
	return /(?:^|; )vscr_off=1(?:;|$)/.test(jar());
}

export function optOut(isOut: boolean): void {
	setCookie('off', isOut ? '1' : '', isOut ? lifetimeSeconds : 0);
}

export function deleteCookies(): void {
	for (const name of ['vid', 'sid', 'seed', 'first'] as const) if (cookie(name)) setCookie(name, '', 0);
}
