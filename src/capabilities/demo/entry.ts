import type { SubscriptionEvent } from '../../core/domain/subscription-event.ts';

/** A hit that a page of the shop sends. */
export interface DemoHit {
	readonly type: 'hit';
	readonly atMs: number;
	/** Visitors are numbered from 0, and so are the visits of each. */
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

/** A subscription event that the shop's back end uploads. */
interface DemoSale {
	readonly type: 'subscription';
	readonly atMs: number;
	/** The buyer. The upload identifies them only by `tid` or `cid`. */
	readonly visitor: number;
	readonly event: SubscriptionEvent;
}

export type DemoEntry = DemoHit | DemoSale;
