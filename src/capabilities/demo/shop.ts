/** The pages of the shop in `demo/`, by their paths. */
export const shopPages = {
	home: { path: '', title: 'Home' },
	cooper: { path: 'the-cooper-of-leith/', title: 'The cooper of Leith' },
	jerez: { path: 'a-week-in-jerez/', title: 'A week in Jerez' },
	pricing: { path: 'pricing/', title: 'Pricing' },
	checkout: { path: 'checkout/', title: 'Checkout' },
	thanks: { path: 'thank-you/', title: 'Thank you' },
} as const;

export type ShopPage = keyof typeof shopPages;

/** Prices in pence. */
export const monthPence = 499;
export const yearPence = 4990;

/** Visitors who keep looking at the plans. The shop greets them on its home page. */
export const consideringSegment = {
	id: 'considering',
	name: 'Considering the plans',
	rule: 'visitor.events["plans-viewed"] >= 3 && visitor.subscriptions == 0',
};
