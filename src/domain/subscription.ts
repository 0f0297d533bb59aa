import { type EventLabel, labelsOf, type SubscriptionEvent } from '../domain/subscription-event.ts';
import { type EventKind, kindOf } from './event-kind.ts';
import { compareEvents } from './event-order.ts';

/** An event of a subscription, and its role. */
export interface SubscriptionStep {
	readonly kind: EventKind;
	readonly atMs: number;
	readonly evt: string;
	readonly revenuePence: number;
}

/** A stored event as its subscription sees it. */
interface OccurredEvent extends Pick<SubscriptionEvent, EventLabel | 'subid'> {
	readonly atMs: number;
	readonly revenuePence: number;
	/** When its `tid` was first shown on a page; null if it was not. */
	readonly shownAtMs: number | null;
}

/** All events of one `subid`, with the labels of its acquisition, else of its first event. */
export interface Subscription extends Pick<SubscriptionEvent, EventLabel> {
	readonly subid: string;
	/** The visitor of its acquisition, else of its earliest joined event; null if none is joined. */
	readonly owner: string | null;
	/** In the order of `compareEvents`. */
	readonly steps: readonly SubscriptionStep[];
	/** Null if there are only refunds. */
	readonly acquisition: SubscriptionStep | null;
	/** When the acquisition's `tid` was first shown on a page; null if it was not. */
	readonly shownAtMs: number | null;
	/** When the `tid` was shown, else when the event was received. */
	readonly convertedAtMs: number;
}

/** An event of a subscription, without its role. */
export type Step = Omit<SubscriptionStep, 'kind'>;

/** The roles of a subscription's events. @param sorted in the order of `compareEvents` */
export function stepsOf(sorted: readonly Step[]): SubscriptionStep[] {
	const first = sorted.find(({ revenuePence }) => revenuePence >= 0);
	return sorted.map((event) => {
		const { atMs, evt, revenuePence } = event;
		return { kind: kindOf(revenuePence, event === first), atMs, evt, revenuePence };
	});
}

/**
 * Orders the events of a `subid`. Negative revenue is a refund, the first other event is the acquisition, later ones
 * are renewals.
 * @param events at least one
 */
export function subscriptionOf(events: readonly OccurredEvent[], owner: string | null): Subscription {
	const sorted = events.toSorted(compareEvents);
	const [earliest] = sorted;
	if (!earliest) throw new Error('a subscription has at least one event');
	const first = sorted.find(({ revenuePence }) => revenuePence >= 0);
	const steps = stepsOf(sorted);
	const shownAtMs = first?.shownAtMs ?? null;
	return {
		subid: earliest.subid,
		owner,
		steps,
		acquisition: steps.find(({ kind }) => kind === 'acquisition') ?? null,
		...labelsOf(first ?? earliest),
		shownAtMs,
		convertedAtMs: shownAtMs ?? (first ?? earliest).atMs,
	};
}
