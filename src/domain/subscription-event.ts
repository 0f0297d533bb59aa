import type { SubscriptionEntry } from './profile.ts';

/** A subscription event (spec section 2.2) as the service keeps it; `rvn` in British pence. */
export interface SubscriptionEvent {
	readonly tid: string;
	readonly subid: string;
	/** Null: none was sent. */
	readonly cid: string | null;
	readonly evt: string;
	readonly rvn: number;
}

/** The fields, in the order of the columns of `subscription_event`; whatever stores, reads or copies events goes by it. */
export const subscriptionEventFields = [
	'tid',
	'subid',
	'cid',
	'evt',
	'rvn',
] as const satisfies readonly (keyof SubscriptionEvent)[];

/** An event as an account's database gives it. */
export interface StoredEvent extends SubscriptionEvent {
	/** Milliseconds since 1970. */
	readonly received_at: number;
}

/** Whether two events with one `tid` say the same. */
export function sameContent(event: SubscriptionEvent, stored: SubscriptionEvent | undefined): boolean {
	return stored !== undefined && subscriptionEventFields.every((field) => event[field] === stored[field]);
}

/** A stored event as profiles know it. */
export function subscriptionEntry(event: Omit<StoredEvent, 'cid'>): SubscriptionEntry {
	return {
		type: 'subscription',
		atMs: event.received_at,
		tid: event.tid,
		subid: event.subid,
		evt: event.evt,
		revenuePence: event.rvn,
	};
}
