import type { SubscriptionEvent } from '../domain/subscription-event.ts';

/** A hit as a page of the shop fires it. */
export interface DemoHit {
	readonly type: 'hit';
	readonly atMs: number;
	/** Visitors are numbered from 0 on, the visits of each from 0 on too. */
	readonly visitor: number;
	readonly visit: number;
	readonly userAgent: string;
	readonly fields: {
		readonly url: string;
		readonly referrer: string;
		readonly title: string;
		readonly cid: string | null;
		readonly events: readonly { name: string; tid?: string; rvn?: number; currency?: string }[];
	};
}

/** A subscription event as the shop's back end uploads it. */
export interface DemoSale {
	readonly type: 'subscription';
	readonly atMs: number;
	/** Whom it is of; the upload does not say so, its `tid` or `cid` does. */
	readonly visitor: number;
	readonly event: SubscriptionEvent;
}

export type DemoEntry = DemoHit | DemoSale;
