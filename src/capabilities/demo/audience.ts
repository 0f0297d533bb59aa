import type { ShopPage } from './shop.ts';

/** A source of visits: its share of them, the visitors' intent, and what the landing hit shows. */
export interface Source {
	readonly share: number;
	/** Added to the log odds of every action that shows interest. */
	readonly intent: number;
	readonly mobileShare: number;
	/** How many of those who subscribe cancel after each payment, and how many ask for it back. */
	readonly cancelShare: number;
	readonly refundShare: number;
	readonly referrers: readonly string[];
	readonly query: string;
	readonly landings: readonly ShopPage[];
}

export const direct: Source = {
	share: 0.18,
	intent: 0.3,
	mobileShare: 0.4,
	cancelShare: 0.1,
	refundShare: 0.02,
	referrers: [''],
	query: '',
	landings: ['home', 'home', 'pricing'],
};

export const email: Source = {
	share: 0.1,
	intent: 1,
	mobileShare: 0.5,
	cancelShare: 0.06,
	refundShare: 0.01,
	referrers: [''],
	query: '?utm_source=newsletter&utm_medium=email&utm_campaign=friday-letter',
	landings: ['jerez', 'cooper', 'home'],
};

export const sources: readonly Source[] = [
	direct,
	email,
	{
		share: 0.3,
		intent: 0,
		mobileShare: 0.55,
		cancelShare: 0.15,
		refundShare: 0.03,
		referrers: ['https://www.google.com/', 'https://www.google.com/', 'https://duckduckgo.com/'],
		query: '',
		landings: ['cooper', 'jerez', 'home'],
	},
	{
		share: 0.22,
		intent: -0.9,
		mobileShare: 0.85,
		cancelShare: 0.35,
		refundShare: 0.12,
		referrers: ['https://www.facebook.com/', 'https://t.co/', 'https://www.instagram.com/'],
		query: '',
		landings: ['cooper', 'jerez'],
	},
	{
		share: 0.15,
		intent: 0.2,
		mobileShare: 0.6,
		cancelShare: 0.3,
		refundShare: 0.08,
		referrers: ['https://www.google.com/'],
		query: '?utm_source=google&utm_medium=cpc&utm_campaign=letters',
		landings: ['pricing', 'home'],
	},
	{
		share: 0.05,
		intent: 0.1,
		mobileShare: 0.35,
		cancelShare: 0.12,
		refundShare: 0.02,
		referrers: ['https://barrels.example/links'],
		query: '',
		landings: ['home', 'cooper'],
	},
];

const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0';

export const phones: readonly string[] = [
	'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
	`Mozilla/5.0 (Linux; Android 10; K) ${chrome} Mobile Safari/537.36`,
];

export const computers: readonly string[] = [
	`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36`,
	`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${chrome} Safari/537.36`,
	'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
];
