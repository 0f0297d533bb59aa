import { type SubscriptionEvent, sameContent } from '../domain/subscription-event.ts';
import type { UploadOutcome } from './store.ts';

/**
 * The rows of an upload whose `tid` was stored before it, or comes earlier in it.
 * @param fresh the `tid`s that were new; those of this upload are taken out, for nobody else has stored them then
 */
export function duplicateRowsOf(events: readonly SubscriptionEvent[], fresh: Set<string>): number[] {
	return events.flatMap(({ tid }, row) => (fresh.delete(tid) ? [] : [row]));
}

/** @param storedOf what is stored with a `tid` */
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
