import { dayMs } from '../durations.ts';
import type { PaidJourney } from './courses.ts';

/** Ended subscriptions are alike that ended in the same of these times ago, in days. */
const endedDays = [0, 14, 30, 60, 120, 240, 480];

/** Since how many days a subscription can no longer be renewed in time; undefined if it still can. */
export function lapsedDays({ course: { lapsesAtMs } }: PaidJourney, asOfMs: number): number | undefined {
	return lapsesAtMs !== null && lapsesAtMs <= asOfMs ? (asOfMs - lapsesAtMs) / dayMs : undefined;
}

/** Subscriptions as they were known at an earlier moment, and what each has paid since, for as long as is looked ahead. */
export interface EarlierReturns {
	readonly known: readonly PaidJourney[];
	readonly asOfMs: number;
	readonly penceSince: (subid: string) => number;
}

/** What ended subscriptions will pay who come back: as much as those of earlier moments did that had ended as long before. */
export function returnsOf(
	present: readonly PaidJourney[],
	asOfMs: number,
	earlier: readonly EarlierReturns[],
): { readonly pence: number; readonly spread: number } {
	const groups = endedDays.map(() => ({ ended: 0, pence: 0 }));
	let returned = 0;
	for (const { known, asOfMs: atMs, penceSince } of earlier)
		for (const journey of known) {
			const days = lapsedDays(journey, atMs);
			if (days === undefined) continue;
			const group = groups[groupOf(days)] as (typeof groups)[number];
			const pence = penceSince(journey.subscription.subid);
			group.ended++;
			group.pence += pence;
			if (pence > 0) returned++;
		}
	let pence = 0;
	for (const journey of present) {
		const days = lapsedDays(journey, asOfMs);
		if (days === undefined) continue;
		// Of those who ended longer ago than anybody then, the last that is known.
		const group = groups.slice(0, groupOf(days) + 1).findLast(({ ended }) => ended > 0);
		if (group) pence += group.pence / group.ended;
	}
	return { pence, spread: Math.hypot(assumedSpread, 1 / Math.sqrt(Math.max(1, returned))) };
}

/** How far returns are off besides by chance, as the standard deviation of the log. */
const assumedSpread = 0.35;

function groupOf(days: number): number {
	return endedDays.findLastIndex((from) => days >= from);
}
