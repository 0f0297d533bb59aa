import { type CancellationEvt, type EventKind, kindTeller } from './event-kind.ts';
import { compareEvents } from './event-order.ts';
import { type EventLabel, labelsOf, type SubscriptionEvent } from './subscription-event.ts';

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

/** All events of one `subid`, with the labels of its start, else of its first event. */
export interface Subscription extends Pick<SubscriptionEvent, EventLabel> {
	readonly subid: string;
	/** The visitor of its start, else of its earliest joined event; null if none is joined. */
	readonly owner: string | null;
	/** In the order of `compareEvents`. */
	readonly steps: readonly SubscriptionStep[];
	/** The trial or the acquisition, whichever came first. Null if there are only refunds and cancellations. */
	readonly start: SubscriptionStep | null;
	/** The first payment above nothing; null if none came. */
	readonly acquisition: SubscriptionStep | null;
	/** When the `tid` of the start was first shown on a page; null if it was not. */
	readonly shownAtMs: number | null;
	/** When the `tid` was shown, else when the event was received. */
	readonly convertedAtMs: number;
}

/** An event of a subscription, without its role. */
export type Step = Omit<SubscriptionStep, 'kind'>;

/** The roles of a subscription's events. @param sorted in the order of `compareEvents` */
export function stepsOf(sorted: readonly Step[], cancellationEvt: CancellationEvt): SubscriptionStep[] {
	const kindOf = kindTeller(cancellationEvt);
	return sorted.map((event) => {
		const { atMs, evt, revenuePence } = event;
		return { kind: kindOf(event), atMs, evt, revenuePence };
	});
}

/** With what a subscription started: its trial or its acquisition. */
export function startOf(steps: readonly SubscriptionStep[]): SubscriptionStep | undefined {
	return steps.find(({ kind }) => kind === 'trial' || kind === 'acquisition');
}

/**
 * Orders the events of a `subid`, and tells what each is.
 * @param events at least one
 */
export function subscriptionOf(
	events: readonly OccurredEvent[],
	owner: string | null,
	cancellationEvt: CancellationEvt = null,
): Subscription {
	const sorted = events.toSorted(compareEvents);
	const [earliest] = sorted;
	if (!earliest) throw new Error('a subscription has at least one event');
	const steps = stepsOf(sorted, cancellationEvt);
	const start = startOf(steps) ?? null;
	const first = start === null ? undefined : sorted[steps.indexOf(start)];
	const shownAtMs = first?.shownAtMs ?? null;
	return {
		subid: earliest.subid,
		owner,
		steps,
		start,
		acquisition: steps.find(({ kind }) => kind === 'acquisition') ?? null,
		...labelsOf(first ?? earliest),
		shownAtMs,
		convertedAtMs: shownAtMs ?? (first ?? earliest).atMs,
	};
}
