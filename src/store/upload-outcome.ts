import { type StoredEvent, type SubscriptionEvent, sameContent } from '../domain/subscription-event.ts';
import type { UploadOutcome } from './store.ts';

/**
 * The rows of an upload whose `tid` was stored before, or occurs earlier in it.
 * @param fresh the `tid`s that were new; those of this upload are removed from it, because only one upload can have
 * stored them
 */
export function duplicateRowsOf(events: readonly SubscriptionEvent[], fresh: Set<string>): number[] {
	return events.flatMap(({ tid }, row) => (fresh.delete(tid) ? [] : [row]));
}

/** Of events with the same `tid` only the first, which is the one that is stored. */
export function firstOfEach(events: readonly StoredEvent[]): StoredEvent[] {
	const byTid = new Map<string, StoredEvent>();
	for (const event of events) if (!byTid.has(event.tid)) byTid.set(event.tid, event);
	return [...byTid.values()];
}

/** @param storedOf returns the event stored with a `tid` */
export function outcomeOf(
	events: readonly SubscriptionEvent[],
	duplicateRows: readonly number[],
	storedOf: (tid: string) => SubscriptionEvent | undefined,
): UploadOutcome {
	return {
		stored: events.length - duplicateRows.length,
		duplicateRows,
		conflictingRows: duplicateRows.filter((row) => {
			const event = events[row] as SubscriptionEvent;
			return !sameContent(event, storedOf(event.tid));
		}),
	};
}
