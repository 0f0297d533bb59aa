import type { Goal } from './goal.ts';
import type { Profile } from './profile.ts';

export type Band = 'low' | 'medium' | 'high';

/** How often a visitor has reached a goal, and when last. */
export interface Reached {
	readonly count: number;
	/** Milliseconds since 1970. */
	readonly lastAtMs: number;
}

/** What webhooks know of a visitor. */
export interface Standing {
	readonly segments: ReadonlySet<string>;
	/** By goal; only goals with a model, because without one everybody is in the middle. */
	readonly bands: ReadonlyMap<string, Band>;
	/** By goal; only goals that were reached. */
	readonly goals: ReadonlyMap<string, Reached>;
}

/**
 * A band is left downwards only by more than this many percentiles, so that visitors at its edge do not change back and
 * forth.
 */
export const bandMargin = 3;

/** The band of a percentile for someone who was in another. */
export function heldBand(
	{ mediumFrom, highFrom }: Pick<Goal, 'mediumFrom' | 'highFrom'>,
	percentile: number,
	before: Band | undefined,
): Band {
	const holds = (band: Band, from: number) => percentile >= (before === band ? from - bandMargin : from);
	if (holds('high', highFrom)) return 'high';
	// From `high`, `medium` is left downwards as well.
	return percentile >= (before === 'low' || before === undefined ? mediumFrom : mediumFrom - bandMargin)
		? 'medium'
		: 'low';
}

/** How often a profile's visitor has reached a goal; undefined if never. */
export function reachedOf(
	{ events, subscriptions, visit, visits }: Profile,
	{ evts }: Pick<Goal, 'evts'>,
): Reached | undefined {
	let count = 0;
	let lastAtMs = Number.NEGATIVE_INFINITY;
	const add = (number: number, atMs: number) => {
		count += number;
		lastAtMs = Math.max(lastAtMs, atMs);
	};
	const takesAll = evts.includes('*');
	if (takesAll && subscriptions) add(subscriptions.count, subscriptions.lastAtMs);
	if (evts.includes('visit') && visits > 1 && visit) add(visits - 1, visit.startedAtMs);
	for (const [name, number, atMs] of [...events, ...(takesAll ? [] : (subscriptions?.evts ?? []))])
		if (evts.includes(name)) add(number, atMs);
	return count > 0 ? { count, lastAtMs } : undefined;
}
