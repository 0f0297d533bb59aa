import type { ChannelRule } from '../domain/channel-rule.ts';
import type { ClickId, SourceKind } from './known-sources.ts';
import { type Address, searchOf, webUrl } from './page-address.ts';
import {
	clickIdNames,
	clickIdOf,
	kindOfSource,
	type SiteOrApp,
	sourceOfAgent,
	sourceOfApp,
	sourceOfHost,
} from './sources.ts';

/** How a visitor reached a page. */
export interface Landing {
	readonly url: Address;
	readonly referrer: Address;
	readonly userAgent?: string | undefined;
}

/** Where a visitor came from. */
export interface CameFrom {
	readonly channel: string;
	/** The site, where it is known by more than `utm_source` and the referrer's host say. */
	readonly source?: string;
	/** Whether only the browser of an app tells. */
	readonly isByApp?: true;
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
 * Determines where a visitor came from: by the account's rules first, then by the campaign parameters of the landing URL, by the
 * referrer, by ids that are in every link of a site, and by the app whose browser it is. `direct` where none says anything.
 */
export function arrivalOf(landing: Landing, rules: readonly ChannelRule[] = []): CameFrom {
	const url = webUrl(landing.url);
	const referrer = referrerUrl(landing.referrer);
	const site = referrer && sourceOfReferrer(referrer);
	const campaign = url && campaignOf(url);
	const id = campaign?.clickId;
	// A page that says nothing of itself is no arrival. Who has left another site has left the app's own page, too.
	const app = url && !referrer && landing.userAgent ? sourceOfAgent(landing.userAgent) : null;
	const rule = ruleOf(url, referrer, rules);
	const source = sourceIn({ referrer, site, id, app });
	if (rule) return { channel: rule.channel, ...source };
	const channel = campaign?.channel ?? channelOfReferrer(site, referrer, url);
	if (channel === 'internal') return { channel };
	if (channel !== 'direct') return { channel, ...source };
	if (id) return { channel: id.channel, ...source };
	return app?.kind ? { channel: unpaid[app.kind], ...source, isByApp: true } : { channel };
}

interface Clues {
	readonly referrer: URL | null;
	readonly site: SiteOrApp | null;
	readonly id: ClickId | undefined;
	readonly app: SiteOrApp | null;
}

function sourceIn({ referrer, site, id, app }: Clues): Pick<CameFrom, 'source'> {
	if (referrer) {
		const { hostname } = referrer;
		// Of an app, no address is stored.
		if (isApp(referrer)) return { source: site?.site ?? hostname };
		return site?.site && site.site !== hostname.replace(/^www\./, '') ? { source: site.site } : {};
	}
	// An app knows better than an id of any link where the link was: Facebook's are on Instagram, too.
	const source = (id && !id.isOfAnyLink && id.site) || app?.site || id?.site;
	return source ? { source } : {};
}

function ruleOf(
	url: URL | null,
	referrer: URL | null,
	rules: readonly ChannelRule[],
): ChannelRule | undefined {
	if (rules.length === 0) return undefined;
	const texts = [url, referrer].filter((text) => text !== null).map(withoutScheme);
	return rules.find(({ pattern }) => texts.some((text) => matches(pattern.toLowerCase(), text)));
}

interface Campaign {
	/** Null where the parameters alone do not say it. */
	readonly channel: string | null;
	readonly clickId: ClickId | undefined;
}

function campaignOf(url: URL): Campaign | null {
	if (url.search === '') return null;
	const parameters = campaignParameters(searchOf(url));
	const clickId = clickIdNames.find((name) => parameters.get(name)?.trim());
	const id = clickId === undefined ? undefined : clickIdOf(clickId);
	return { channel: channelOfCampaign(parameters, id), clickId: id };
}

function channelOfCampaign(parameters: ReadonlyMap<string, string>, id: ClickId | undefined): string | null {
	const medium = nameIn(parameters, 'utm_medium');
	const source = nameIn(parameters, 'utm_source');
	const kind = kindOfSource(source);
	const channel = mediums.find(([pattern]) => pattern.test(medium))?.[1];
	if (paidMedium.test(medium)) return (kind && paid[kind]) ?? channel ?? 'paid other';
	// Assistants and networks call their own links so.
	if (kind && (channel === 'referral' || (channel === 'organic search' && kind === 'assistant')))
		return unpaid[kind];
	if (channel) return channel;
	if (id && !id.isOfAnyLink) return id.channel;
	if (kind) return unpaid[kind];
	// An unknown campaign is still not a direct visit.
	return medium || source ? (id?.channel ?? 'other') : null;
}

const campaignNames = new Set(['utm_medium', 'utm_source', ...clickIdNames]);

/**
 * The first of each parameter that tells a channel. The others are not decoded: a page may have thousands that are malformed, each
 * of which costs the decoder an exception.
 */
function campaignParameters(search: string): ReadonlyMap<string, string> {
	const found = new Map<string, string>();
	for (const parameter of search.split('&')) {
		const name = parameter.slice(0, Math.max(0, parameter.indexOf('='))).toLowerCase();
		if (!campaignNames.has(name) || found.has(name)) continue;
		found.set(name, new URLSearchParams(parameter).values().next().value ?? '');
	}
	return found;
}

function nameIn(parameters: ReadonlyMap<string, string>, parameter: string): string {
	return (parameters.get(parameter) ?? '').trim().slice(0, maxNameCharacters).toLowerCase();
}

function sourceOfReferrer(referrer: URL): SiteOrApp | null {
	const { hostname, pathname } = referrer;
	return isApp(referrer) ? sourceOfApp(hostname) : sourceOfHost(hostname, pathname);
}

function isApp({ protocol }: URL): boolean {
	return protocol === 'android-app:';
}

function channelOfReferrer(site: SiteOrApp | null, referrer: URL | null, url: URL | null): string {
	if (!referrer) return 'direct';
	if (url && isSameSite(referrer.hostname, url.hostname)) return 'internal';
	return site?.kind ? unpaid[site.kind] : 'referral';
}

/** Android apps send referrers such as `android-app://com.google.android.gm/`. */
export function referrerUrl(referrer: Address): URL | null {
	const parsed = typeof referrer === 'string' ? URL.parse(referrer) : (referrer ?? null);
	return parsed && isApp(parsed) ? parsed : webUrl(parsed);
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
