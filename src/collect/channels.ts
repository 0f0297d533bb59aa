import type { ChannelRule } from '../domain/channel-rule.ts';
import { type Address, searchOf, webUrl } from './page.ts';
import { kindOfHost, kindOfSource, type SourceKind } from './sources.ts';

/** How a visitor reached a page: its landing URL and its referrer. */
export interface Landing {
	readonly url: Address;
	readonly referrer: Address;
}

/** Common spellings of `utm_medium`. Paid mediums are matched first. */
const mediums: readonly (readonly [medium: RegExp, channel: string])[] = [
	[/^(display|banner|expandable|interstitial|cpm)$/, 'display'],
	[/^affiliates?$/, 'affiliates'],
	[/^(e[-_ ]?mail|newsletter)$/, 'email'],
	[/^(sm|social([-_ ]?(network|media))?)$/, 'social'],
	[/^sms$/, 'sms'],
	[/push$/, 'push'],
	[/^organic$/, 'organic search'],
	[/^(referral|app|link)$/, 'referral'],
];
const paidMedium = /cp[acmv]|^(ppc|retargeting)$|^paid/;
/** Longer than any campaign parameter in use. */
const maxNameCharacters = 100;

/** Click ids that ad networks and mailing services append. Facebook adds `fbclid` to unpaid links too. */
const clickIds: readonly (readonly [name: string, channel: string])[] = [
	['dclid', 'display'],
	['gclid', 'paid search'],
	['gbraid', 'paid search'],
	['wbraid', 'paid search'],
	['msclkid', 'paid search'],
	['yclid', 'paid search'],
	['ttclid', 'paid social'],
	['twclid', 'paid social'],
	['li_fat_id', 'paid social'],
	['epik', 'paid social'],
	['fbclid', 'social'],
	['igshid', 'social'],
	['irclickid', 'affiliates'],
	['cjevent', 'affiliates'],
	['awc', 'affiliates'],
	['mc_eid', 'email'],
	['_hsenc', 'email'],
	['srsltid', 'organic search'],
];

const unpaid: Readonly<Record<SourceKind, string>> = {
	search: 'organic search',
	social: 'social',
	email: 'email',
	ads: 'display',
	assistant: 'ai assistant',
};
const paid: Readonly<Record<SourceKind, string>> = {
	search: 'paid search',
	social: 'paid social',
	email: 'email',
	ads: 'display',
	assistant: 'paid other',
};

/**
 * Determines the channel: by the account's rules first, then by the campaign parameters of the landing URL, then by the
 * referrer. `direct` where none of them says anything.
 */
export function channelOf(arrival: Landing, rules: readonly ChannelRule[] = []): string {
	const url = webUrl(arrival.url);
	const referrer = referrerUrl(arrival.referrer);
	if (rules.length > 0) {
		const texts = [url, referrer].filter((text) => text !== null).map(withoutScheme);
		const rule = rules.find(({ pattern }) => texts.some((text) => matches(pattern.toLowerCase(), text)));
		if (rule) return rule.channel;
	}
	return (url && channelOfCampaign(url)) ?? channelOfReferrer(referrer, url);
}

function channelOfCampaign(url: URL): string | null {
	if (url.search === '') return null;
	const searchParams = campaignParameters(searchOf(url));
	const medium = nameIn(searchParams, 'utm_medium');
	const source = nameIn(searchParams, 'utm_source');
	const kind = kindOfSource(source);
	const channel = mediums.find(([pattern]) => pattern.test(medium))?.[1];
	if (paidMedium.test(medium)) return (kind && paid[kind]) ?? channel ?? 'paid other';
	if (channel) return channel;
	const names = new Set(searchParams.keys());
	const clicked = clickIds.find(([name]) => names.has(name))?.[1];
	if (clicked && !(clicked === 'social' && kind)) return clicked;
	if (kind) return unpaid[kind];
	// An unknown campaign is still not a direct visit.
	return medium || source ? 'other' : null;
}

/**
 * The first of each parameter that tells a channel. The others are not decoded: a page may have thousands that are malformed,
 * each of which costs the decoder an exception.
 */
function campaignParameters(search: string): URLSearchParams {
	const left = new Set(['utm_medium', 'utm_source', ...clickIds.map(([name]) => name)]);
	const first = search.split('&').filter((parameter) => left.delete(parameter.split('=', 1)[0] as string));
	return new URLSearchParams(first.join('&'));
}

function nameIn(searchParams: URLSearchParams, parameter: string): string {
	return (searchParams.get(parameter) ?? '').trim().slice(0, maxNameCharacters).toLowerCase();
}

function channelOfReferrer(referrer: URL | null, url: URL | null): string {
	if (!referrer) return 'direct';
	if (url && isSameSite(referrer.hostname, url.hostname)) return 'internal';
	const kind = kindOfHost(referrer.hostname, referrer.pathname);
	return kind ? unpaid[kind] : 'referral';
}

/** Android apps send referrers such as `android-app://com.google.android.gm/`. */
export function referrerUrl(referrer: Address): URL | null {
	const parsed = typeof referrer === 'string' ? URL.parse(referrer) : (referrer ?? null);
	return parsed?.protocol === 'android-app:' ? parsed : webUrl(parsed);
}

/** Whether the hosts are the same, or one is a subdomain of the other. An account's rule can relate other hosts. */
function isSameSite(a: string, b: string): boolean {
	const [one, other] = [a.replace(/^www\./, ''), b.replace(/^www\./, '')];
	return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}

function withoutScheme({ host, pathname, search }: URL): string {
	return (host + pathname + search).toLowerCase();
}

/** Matches lower-case text against a glob in which `*` stands for any characters. Patterns are tried on the
 * landing URL and on the referrer, both without their scheme: `*.partner.example/*`, `*?*ref=podcast*`.
 */
export function matches(pattern: string, text: string): boolean {
	const parts = pattern.split('*');
	const first = parts[0] as string;
	if (parts.length === 1) return text === pattern;
	const last = parts[parts.length - 1] as string;
	if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
		return false;
	let from = first.length;
	for (const part of parts.slice(1, -1)) {
		const found = text.indexOf(part, from);
		if (found < 0) return false;
		from = found + part.length;
	}
	return from <= text.length - last.length;
}
