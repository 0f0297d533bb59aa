/** What an event is to its subscription. */
export const eventKinds = ['trial', 'acquisition', 'renewal', 'refund', 'cancellation'] as const;
export type EventKind = (typeof eventKinds)[number];

/**
 * What an event is to its subscription in a profile: as fine as any goal needs, and whatever the account calls a cancellation.
 * `conversion` is the first payment after a trial, `free` what is free later.
 */
export type LoggedKind = 'trial' | 'acquisition' | 'conversion' | 'renewal' | 'free' | 'refund';

/** @param before whether the subscription had begun, and whether nothing but a trial had come */
export function loggedKindOf(
	revenuePence: number,
	{ hasBegun, isTrial }: { readonly hasBegun: boolean; readonly isTrial: boolean },
): LoggedKind {
	if (revenuePence < 0) return 'refund';
	if (revenuePence === 0) return hasBegun ? 'free' : 'trial';
	if (isTrial) return 'conversion';
	return hasBegun ? 'renewal' : 'acquisition';
}

/** Which `evt` says that a subscription is cancelled, if its event is of no pence; null if the account names none. */
export type CancellationEvt = string | null;

/** Whether an event says that its subscription is cancelled. One with money is a payment or a refund, whatever its `evt`. */
export function isCancellation(
	{ evt, revenuePence }: { readonly evt: string; readonly revenuePence: number },
	cancellationEvt: CancellationEvt,
): boolean {
	return cancellationEvt !== null && revenuePence === 0 && evt === cancellationEvt;
}

/**
 * Tells the kinds of a subscription's events, one after another in order of time. The first payment above nothing is the
 * acquisition. What is free and comes first is a trial, and what is free after that prolongs it, as a renewal does.
 */
export function kindTeller(
	cancellationEvt: CancellationEvt,
): (event: { readonly evt: string; readonly revenuePence: number }) => EventKind {
	let [hasBegun, isPaid] = [false, false];
	return (event) => {
		if (event.revenuePence < 0) return 'refund';
		if (isCancellation(event, cancellationEvt)) return 'cancellation';
		const isFirst = !hasBegun;
		hasBegun = true;
		if (event.revenuePence === 0) return isFirst ? 'trial' : 'renewal';
		if (isPaid) return 'renewal';
		isPaid = true;
		return 'acquisition';
	};
}
