/** How people arrive: what their browsers send, and where they are from. Each row is a way that users of other products reported. */
export interface ArrivalCase {
	readonly what: string;
	/** Of the landing page. */
	readonly query?: string;
	readonly referrer?: string;
	readonly userAgent?: string;
	readonly channel: string;
	readonly source: string | null;
}

const iphone = (rest: string) =>
	`Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ${rest}`;
const android = (rest: string) =>
	`Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0.6422.53 Mobile Safari/537.36${rest}`;

export const agents = {
	safari: iphone('Version/17.5 Mobile/15E148 Safari/604.1'),
	chrome: android(''),
	instagram: iphone(
		'Mobile/15E148 Instagram 334.0.4.32.98 (iPhone14,5; iOS 17_5; en_GB; en; scale=3.00; 1170x2532; 606344945)',
	),
	threads: iphone('Mobile/15E148 Barcelona 334.0.4.32.98 (iPhone14,5; iOS 17_5; en_GB)'),
	facebook: iphone(
		'Mobile/21F79 [FBAN/FBIOS;FBAV/465.0.0.41.105;FBBV/602060281;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS]',
	),
	messenger: android(' [FB_IAB/Orca-Android;FBAV/460.0.0.48.109;]'),
	tiktok: android(' trill_340204 BytedanceWebview/d8a21c6'),
	linkedin: iphone('Mobile/15E148 [LinkedInApp]/9.29.6000'),
	wechat: iphone('Mobile/15E148 MicroMessenger/8.0.49(0x18003137) NetType/WIFI Language/en'),
	snapchat: iphone('Version/17.5 Mobile/15E148 Snapchat/12.89.0.40 (like Safari/8618.2.12.10.9, panda)'),
	pinterest: iphone('Mobile/21F79 [Pinterest/iOS]'),
	x: iphone('Mobile/15E148 Twitter for iPhone/10.41'),
	telegram: android(' Telegram-Android/11.3.3 (Google Pixel 8; Android 14; SDK 34; HIGH)'),
	line: iphone('Mobile/15E148 Safari Line/14.8.0'),
	kakao: android(';KAKAOTALK 2610630'),
	google: iphone('GSA/319.0.638162433 Mobile/15E148 Safari/604.1'),
	naver: iphone('Mobile/15E148 NAVER(inapp; search; 2000; 12.6.2; 14PRO)'),
} as const;

function app(what: string, userAgent: string, source: string, channel = 'social'): ArrivalCase {
	return { what: `the browser in ${what}`, userAgent, channel, source };
}
function from(referrer: string, source: string | null, channel: string): ArrivalCase {
	return { what: `from ${referrer}`, referrer, channel, source };
}
function tagged(
	query: string,
	source: string | null,
	channel: string,
	more: Partial<ArrivalCase> = {},
): ArrivalCase {
	const what = [`with ${query}`, more.referrer].filter(Boolean).join(' from ');
	return { what, query, channel, source, ...more };
}

export const arrivalCases: readonly ArrivalCase[] = [
	app('Instagram', agents.instagram, 'instagram.com'),
	app('Threads', agents.threads, 'threads.net'),
	app('Facebook', agents.facebook, 'facebook.com'),
	app('Messenger', agents.messenger, 'facebook.com'),
	app('TikTok', agents.tiktok, 'tiktok.com'),
	app('LinkedIn', agents.linkedin, 'linkedin.com'),
	app('WeChat', agents.wechat, 'wechat.com'),
	app('Snapchat', agents.snapchat, 'snapchat.com'),
	app('Pinterest', agents.pinterest, 'pinterest.com'),
	app('X', agents.x, 'x.com'),
	app('Telegram', agents.telegram, 'telegram.org'),
	app('Line', agents.line, 'line.me'),
	app('KakaoTalk', agents.kakao, 'kakao.com'),
	app('the Google app', agents.google, 'google.com', 'organic search'),
	app('Naver', agents.naver, 'naver.com', 'organic search'),
	{ what: 'a browser of its own', userAgent: agents.safari, channel: 'direct', source: null },
	{ what: 'an Android browser of its own', userAgent: agents.chrome, channel: 'direct', source: null },
	{
		what: 'a blog, read in Instagram',
		userAgent: agents.instagram,
		referrer: 'https://blog.example/',
		channel: 'referral',
		source: 'blog.example',
	},
	{
		what: 'the next page in Instagram',
		userAgent: agents.instagram,
		referrer: 'https://www.acme.example/',
		channel: 'internal',
		source: 'acme.example',
	},
	tagged('utm_source=november&utm_medium=email', 'november', 'email', { userAgent: agents.facebook }),
	from('android-app://com.google.android.gm/', 'mail.google.com', 'email'),
	from('android-app://com.google.android.gm.lite/', 'mail.google.com', 'email'),
	from('android-app://com.google.android.googlequicksearchbox', 'google.com', 'organic search'),
	from(
		'android-app://com.google.android.googlequicksearchbox/https/www.google.com',
		'google.com',
		'organic search',
	),
	from('android-app://com.linkedin.android/', 'linkedin.com', 'social'),
	from('android-app://com.Slack/', 'slack.com', 'social'),
	from('android-app://com.pinterest/', 'pinterest.com', 'social'),
	from('android-app://com.instagram.android/', 'instagram.com', 'social'),
	from('android-app://com.facebook.katana/', 'facebook.com', 'social'),
	from('android-app://com.reddit.frontpage/', 'reddit.com', 'social'),
	from('android-app://com.twitter.android/', 'x.com', 'social'),
	from('android-app://com.whatsapp/', 'whatsapp.com', 'social'),
	from('android-app://org.telegram.messenger.web/', 'telegram.org', 'social'),
	from('android-app://com.snapchat.android/', 'snapchat.com', 'social'),
	from('android-app://com.microsoft.office.outlook/', 'outlook.live.com', 'email'),
	from('android-app://com.yahoo.mobile.client.android.mail/', 'mail.yahoo.com', 'email'),
	from('android-app://com.openai.chatgpt/', 'chatgpt.com', 'ai assistant'),
	from('android-app://org.example.reader/', 'org.example.reader', 'referral'),
	from('https://l.instagram.com/', 'instagram.com', 'social'),
	from('https://l.facebook.com/', 'facebook.com', 'social'),
	from('https://lm.facebook.com/', 'facebook.com', 'social'),
	from('https://m.facebook.com/', 'facebook.com', 'social'),
	from('https://t.co/abc', 'x.com', 'social'),
	from('https://lnkd.in/abc', 'linkedin.com', 'social'),
	from('https://out.reddit.com/t3_1', 'reddit.com', 'social'),
	from('https://old.reddit.com/', 'reddit.com', 'social'),
	from('https://app.slack.com/', 'slack.com', 'social'),
	from('https://statics.teams.cdn.office.net/', 'teams.microsoft.com', 'social'),
	from('https://outlook.office.com/', 'outlook.live.com', 'email'),
	from('https://nam01.safelinks.protection.outlook.com/', 'safelinks.protection.outlook.com', 'email'),
	from('https://mail.google.com/', 'mail.google.com', 'email'),
	from('https://ya.ru/', 'ya.ru', 'organic search'),
	from('https://chatgpt.com/', 'chatgpt.com', 'ai assistant'),
	from('https://chat.openai.com/', 'chatgpt.com', 'ai assistant'),
	from('https://www.perplexity.ai/', 'perplexity.ai', 'ai assistant'),
	from('https://gemini.google.com/', 'gemini.google.com', 'ai assistant'),
	from('https://copilot.microsoft.com/', 'copilot.microsoft.com', 'ai assistant'),
	from('https://edgeservices.bing.com/', 'copilot.microsoft.com', 'ai assistant'),
	from('https://claude.ai/', 'claude.ai', 'ai assistant'),
	from('https://you.com/', 'you.com', 'ai assistant'),
	from('https://www.meta.ai/', 'meta.ai', 'ai assistant'),
	from('https://chat.deepseek.com/', 'chat.deepseek.com', 'ai assistant'),
	from('https://grok.com/', 'grok.com', 'ai assistant'),
	from('https://x.com/i/grok', 'grok.com', 'ai assistant'),
	from('https://x.com/', 'x.com', 'social'),
	from('https://notebooklm.google.com/', 'notebooklm.google.com', 'ai assistant'),
	tagged('utm_source=chatgpt.com', 'chatgpt.com', 'ai assistant'),
	tagged('utm_source=chatgpt.com&utm_medium=referral', 'chatgpt.com', 'ai assistant'),
	tagged('utm_source=perplexity', 'perplexity', 'ai assistant'),
	tagged('utm_source=copilot.com', 'copilot.com', 'ai assistant'),
	tagged('utm_source=openai&utm_medium=organic', 'openai', 'ai assistant'),
	tagged('utm_source=facebook&utm_medium=referral', 'facebook', 'social'),
	tagged('utm_source=partner&utm_medium=referral', 'partner', 'referral'),
	tagged('utm_source=fb-ads&utm_medium=cpc', 'fb-ads', 'paid social'),
	tagged('gclid=1', 'google.com', 'paid search'),
	tagged('gbraid=1', 'google.com', 'paid search'),
	tagged('wbraid=1', 'google.com', 'paid search'),
	tagged('gad_source=1', 'google.com', 'paid search'),
	tagged('GCLID=1', 'google.com', 'paid search'),
	tagged('gclid=1', 'google.de', 'paid search', { referrer: 'https://www.google.de/' }),
	tagged('gclid=', null, 'direct'),
	tagged('dclid=1', 'doubleclick.net', 'display'),
	tagged('msclkid=1', 'bing.com', 'paid search'),
	tagged('yclid=1', 'yandex.ru', 'paid search'),
	tagged('ttclid=1', 'tiktok.com', 'paid social'),
	tagged('twclid=1', 'x.com', 'paid social'),
	tagged('li_fat_id=1', 'linkedin.com', 'paid social'),
	tagged('epik=1', 'pinterest.com', 'paid social'),
	tagged('ScCid=1', 'snapchat.com', 'paid social'),
	tagged('sccid=1', 'snapchat.com', 'paid social'),
	tagged('rdt_cid=1', 'reddit.com', 'paid social'),
	tagged('mc_eid=1', null, 'email'),
	tagged('_hsenc=1', null, 'email'),
	tagged('_kx=1', null, 'email'),
	tagged('mkt_tok=1', null, 'email'),
	tagged('srsltid=1', 'google.com', 'organic search'),
	tagged('ysclid=1', 'yandex.ru', 'organic search'),
	tagged('fbclid=1', 'facebook.com', 'social'),
	tagged('fbclid=1', 'instagram.com', 'social', { userAgent: agents.instagram }),
	tagged('igsh=1', 'instagram.com', 'social'),
	tagged('igshid=1', 'instagram.com', 'social'),
	tagged('utm_medium=paid&utm_source=ig&fbclid=1', 'ig', 'paid social'),
	tagged('utm_source=newsletter&fbclid=1', 'newsletter', 'email'),
	tagged('fbclid=1', 'facebook.com', 'social', { referrer: 'https://l.facebook.com/' }),
	tagged('fbclid=1', 'mail.google.com', 'email', { referrer: 'https://mail.google.com/' }),
	tagged('fbclid=1', 'blog.example', 'referral', { referrer: 'https://blog.example/' }),
	tagged('fbclid=1', 'acme.example', 'internal', { referrer: 'https://www.acme.example/' }),
];
