import type { SubscriptionEntry } from '../domain/profile.ts';

/** An event of a subscription, and its role. */
export interface SubscriptionStep {
	readonly kind: 'acquisition' | 'renewal' | 'refund';
	readonly atMs: number;
	readonly evt: string;
	readonly revenuePence: number;
}

/** All events of one `subid`. */
export interface Subscription {
	readonly subid: string;
	/** The visitor of its acquisition, else of its earliest joined event; null if none is joined. */
	readonly owner: string | null;
	/** By time, then in order of arrival. */
	readonly steps: readonly SubscriptionStep[];
	/** Null if there are only refunds. */
	readonly acquisition: SubscriptionStep | null;
	/** `evt` of the acquisition, else of the first event. */
	readonly evt: string;
	/** When the acquisition's `tid` was first shown on a page; null if it was not. */
	readonly shownAtMs: number | null;
	/** When the `tid` was shown, else when the event was received. */
	readonly convertedAtMs: number;
}

/**
 * Orders the events of a `subid`. Negative revenue is a refund, the first other event is the acquisition, later ones
 * are renewals.
 * @param events at least one; those of one moment in order of arrival
 * @param shownAtMs when a `tid` was first shown on a page
 */
export function subscriptionOf(
	events: readonly Pick<SubscriptionEntry, 'tid' | 'subid' | 'evt' | 'atMs' | 'revenuePence'>[],
	owner: string | null,
	shownAtMs: (tid: string) => number | null,
): Subscription {
	const sorted = events.toSorted((a, b) => a.atMs - b.atMs);
	const first = sorted.find(({ revenuePence }) => revenuePence >= 0);
	const steps = sorted.map((event) => ({
		kind:
			event.revenuePence < 0
				? ('refund' as const)
				: event === first
					? ('acquisition' as const)
					: ('renewal' as const),
		atMs: event.atMs,
		evt: event.evt,
		revenuePence: event.revenuePence,
	}));
	const [earliest] = sorted;
	if (!earliest) throw new Error('a subscription has at least one event');
	const shown = first ? shownAtMs(first.tid) : null;
	return {
		subid: earliest.subid,
		owner,
		steps,
		acquisition: steps.find(({ kind }) => kind === 'acquisition') ?? null,
		evt: (first ?? earliest).evt,
		shownAtMs: shown,
		convertedAtMs: shown ?? (first ?? earliest).atMs,
	};
}
