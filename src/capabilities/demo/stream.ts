import { dayMs } from '../../core/durations.ts';
import { seededRandom } from '../../kit/random.ts';
import { Chance } from './chance.ts';
import type { DemoEntry } from './entry.ts';
import { arrivalBetween } from './rhythm.ts';
import { VisitorStory, type Welcomes } from './visitor-story.ts';

export interface DemoOptions {
	readonly seed: number;
	readonly visitors: number;
	readonly days: number;
	/** End of the history. Ids are derived from it, so that two runs have different ones. */
	readonly untilMs: number;
	/** Base URL of the shop, with a trailing slash. */
	readonly shop: string;
	/** When the shop welcomes half of the visitors who come back; never, if it is missing. */
	readonly welcomes?: Welcomes;
}

/** Whether the shop welcomes a visitor who comes back while it welcomes visitors: it does half of them. */
export function isWelcomed(seed: number, visitor: number): boolean {
	return seededRandom(Math.imul(seed, 0xc2b2ae35) ^ Math.imul(visitor + 1, 0x27d4eb2f))() < 0.5;
}

/**
 * Generates a history of the demo shop, ordered by time. Visitors who return, look at the plans, or come by mail
 * subscribe more often, so that a model has something to learn. The same options give the same history.
 */
export function demoStream({ seed, visitors, days, untilMs, shop, welcomes }: DemoOptions): DemoEntry[] {
	const entries: DemoEntry[] = [];
	for (let visitor = 0; visitor < visitors; visitor++) {
		// Each visitor has a generator of their own, so that they behave the same whatever the number of visitors.
		const chance = new Chance(seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(visitor + 1, 0x85ebca6b)));
		const arrivalMs = arrivalBetween(chance.random, untilMs - days * dayMs, untilMs);
		const story = new VisitorStory(chance, {
			visitor,
			run: untilMs.toString(36),
			shop,
			welcomes: isWelcomed(seed, visitor) ? welcomes : undefined,
		});
		entries.push(...story.tell(arrivalMs, untilMs));
	}
	return entries.sort((a, b) => a.atMs - b.atMs || a.visitor - b.visitor);
}
