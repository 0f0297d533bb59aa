/** The pages of the shop in `demo/`, as its addresses have them. */
export const shopPages = {
	home: { path: '', title: 'Home' },
	cooper: { path: 'the-cooper-of-leith/', title: 'The cooper of Leith' },
	jerez: { path: 'a-week-in-jerez/', title: 'A week in Jerez' },
	pricing: { path: 'pricing/', title: 'Pricing' },
	checkout: { path: 'checkout/', title: 'Checkout' },
	thanks: { path: 'thank-you/', title: 'Thank you' },
} as const;

export type ShopPage = keyof typeof shopPages;

/** What the shop asks for, in pence: a month, or a year. */
export const monthPence = 499;
export const yearPence = 4990;

/** Those who look at the plans again and again; the shop has a word for them on its first page. */
export const consideringSegment = {
	id: 'considering',
	name: 'Considering the plans',
	rule: 'visitor.events["plans-viewed"] >= 3 && visitor.subscriptions == 0',
};
