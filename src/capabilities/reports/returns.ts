import { dayMs } from '../../core/durations.ts';
import type { PaidJourney } from '../../kit/reports/courses.ts';

/** Ended subscriptions are alike that ended in the same of these times ago, in days. */
const endedDays = [0, 14, 30, 60, 120, 240, 480];

/** Since how many days a subscription can no longer be renewed in time; undefined if it still can. */
export function lapsedDays({ course: { lapsesAtMs } }: PaidJourney, asOfMs: number): number | undefined {
	return lapsesAtMs !== null && lapsesAtMs <= asOfMs ? (asOfMs - lapsesAtMs) / dayMs : undefined;
}

/** Subscriptions that had ended at a moment, as long before as each other. */
export interface EndedGroup {
	ended: number;
	/** How many have come back in the days after, and what they have paid. */
	returned: number;
	pence: number;
}

/**
 * Those that had ended at a moment, by how long before.
 * @param penceSince what each has paid since, for as long as is looked ahead
 */
export function endedAt(
	known: readonly PaidJourney[],
	atMs: number,
	penceSince: (subid: string) => number = () => 0,
): EndedGroup[] {
	const groups = endedDays.map(() => ({ ended: 0, returned: 0, pence: 0 }));
	for (const journey of known) {
		const days = lapsedDays(journey, atMs);
		if (days === undefined) continue;
		const group = groups[endedDays.findLastIndex((from) => days >= from)] as EndedGroup;
		const pence = penceSince(journey.subscription.subid);
		group.ended++;
		group.pence += pence;
		if (pence > 0) group.returned++;
	}
	return groups;
}

/**
 * What ended subscriptions will pay who come back: as much as those of earlier moments did that had ended as long before.
 * @param known whether anybody had ended then, or nobody has now
 */
export function returnsOf(
	now: readonly EndedGroup[],
	earlier: readonly (readonly EndedGroup[])[],
): { readonly pence: number; readonly spread: number; readonly isKnown: boolean } {
	let [pence, returned] = [0, 0];
	let last: EndedGroup | undefined;
	for (const [place, { ended }] of now.entries()) {
		const group = { ended: 0, returned: 0, pence: 0 };
		for (const groups of earlier)
			for (const name of ['ended', 'returned', 'pence'] as const)
				group[name] += (groups[place] as EndedGroup)[name];
		returned += group.returned;
		// Of those who ended longer ago than anybody then, the last that is known.
		if (group.ended > 0) last = group;
		if (last) pence += (ended * last.pence) / last.ended;
	}
	return {
		pence,
		spread: Math.hypot(assumedSpread, 1 / Math.sqrt(Math.max(1, returned))),
		isKnown: last !== undefined || now.every(({ ended }) => ended === 0),
	};
}

/** How far returns are off besides by chance, as the standard deviation of the log. */
const assumedSpread = 0.35;
