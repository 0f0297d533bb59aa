import { seededRandom } from '../scoring/random.ts';
import type { SubscriptionEvent } from '../store/store.ts';
import { Chance } from './chance.ts';
import { arrivalBetween } from './rhythm.ts';
import { VisitorStory } from './visitor-story.ts';

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

export interface DemoOptions {
	readonly seed: number;
	readonly visitors: number;
	readonly days: number;
	/** The history ends here. Its ids are made of it, so that of two runs none is a repeat of the other. */
	readonly untilMs: number;
	/** Address of the shop, with a slash at its end. */
	readonly shop: string;
}

const dayMs = 86_400_000;

/**
 * A history of the demo shop, in order of time: whoever comes back, looks at the plans, or comes by mail subscribes more
 * often, so that there is something for a model to learn. The same options give the same history.
 */
export function demoStream({ seed, visitors, days, untilMs, shop }: DemoOptions): DemoEntry[] {
	const entries: DemoEntry[] = [];
	for (let visitor = 0; visitor < visitors; visitor++) {
		// Each visitor has luck of its own, and does the same among few as among many.
		const chance = new Chance(seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(visitor + 1, 0x85ebca6b)));
		const arrivalMs = arrivalBetween(chance.random, untilMs - days * dayMs, untilMs);
		const story = new VisitorStory(chance, { visitor, run: untilMs.toString(36), shop });
		entries.push(...story.tell(arrivalMs, untilMs));
	}
	return entries.sort((a, b) => a.atMs - b.atMs || a.visitor - b.visitor);
}
