import type { HitAnswer } from './vscr.ts';

const visitorSeconds = 395 * 86_400; // 13 months; no browser keeps a cookie much longer
const visitSeconds = 1800;

function setCookie(name: 'vid' | 'sid' | 'off', value: string, seconds: number): void {
	const secure = location.protocol === 'https:' ? ';secure' : '';
	// biome-ignore lint/suspicious/noDocumentCookie: many browsers have no Cookie Store
	document.cookie = `vscr_${name}=${value};path=/;max-age=${seconds};samesite=lax${secure}`;
}

export function cookie(name: 'vid' | 'sid'): string | undefined {
	return RegExp(`(?:^|; )vscr_${name}=([0-9a-f]{32})(?:;|$)`).exec(document.cookie)?.[1];
}

export function keepCookies({ vid, sid }: HitAnswer): void {
	// Not renewed: it expires 13 months after the first visit.
	if (vid !== cookie('vid')) setCookie('vid', vid, visitorSeconds);
	setCookie('sid', sid, visitSeconds);
}

/** Whether this browser is not to be counted, by the link that its user has followed once. */
export function isOptedOut(): boolean {
	return /(?:^|; )vscr_off=1(?:;|$)/.test(document.cookie);
}

export function optOut(isOut: boolean): void {
	setCookie('off', isOut ? '1' : '', isOut ? visitorSeconds : 0);
}

export function deleteCookies(): void {
	if (cookie('vid')) setCookie('vid', '', 0);
	if (cookie('sid')) setCookie('sid', '', 0);
}
