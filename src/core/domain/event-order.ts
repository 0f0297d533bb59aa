import { compareTexts } from './compare-texts.ts';

/** What orders the events of a subscription. */
export interface OrderedEvent {
	readonly atMs: number;
	readonly revenuePence: number;
	readonly evt: string;
}

/**
 * The order of a subscription's events: by time. Of one moment, who pays more comes first, so that refunds come last. The order
 * of arrival decides nothing.
 */
export function compareEvents(a: OrderedEvent, b: OrderedEvent): number {
	return a.atMs - b.atMs || b.revenuePence - a.revenuePence || compareTexts(a.evt, b.evt);
}
