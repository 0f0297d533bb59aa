import { seededRandom } from '../scoring/random.ts';
import { Chance } from './chance.ts';
import type { DemoEntry } from './entry.ts';
import { arrivalBetween } from './rhythm.ts';
import { VisitorStory } from './visitor-story.ts';

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
