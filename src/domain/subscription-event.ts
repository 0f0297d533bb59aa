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

/** How an event came: the same for all events of one upload. */
export interface Arrival {
	readonly receivedAtMs: number;
	/** Of the request that has brought it; absent where it was imported. */
	readonly requestId?: string;
}

/** An event as an account's database gives it. */
export interface StoredEvent extends SubscriptionEvent {
	/** Milliseconds since 1970. */
	readonly received_at: number;
	/** Null: imported, or stored by a version that did not keep it. */
	readonly request_id: string | null;
}

/** What the fields hold, in the order of the columns of `subscription_event`. */
export const subscriptionEventTypes = {
	tid: 'text',
	subid: 'text',
	cid: 'text',
	evt: 'text',
	rvn: 'integer',
} as const satisfies Record<keyof SubscriptionEvent, 'text' | 'integer'>;

/** The fields, in the order of the columns; whatever stores, reads or copies events goes by it. */
export const subscriptionEventFields = Object.keys(subscriptionEventTypes) as (keyof SubscriptionEvent)[];

/** The columns: the fields, and how the event came. `id`, its place in the order of arrival, and `vid` are the store's. */
export const storedEventColumns: readonly (keyof StoredEvent)[] = [
	...subscriptionEventFields,
	...(['received_at', 'request_id'] as const),
];

/** What `storedEventColumns` hold of the arrival, after the fields. */
export function arrivalValues({ receivedAtMs, requestId }: Arrival): [number, string | null] {
	return [receivedAtMs, requestId ?? null];
}

/** The row of an event that has just come. */
export function storedEvent(event: SubscriptionEvent, arrival: Arrival): StoredEvent {
	const [received_at, request_id] = arrivalValues(arrival);
	return { ...eventOf(event), received_at, request_id };
}

/** The event that a row holds, without what else is in the row. */
export function eventOf(row: Readonly<Record<string, unknown>> | SubscriptionEvent): SubscriptionEvent {
	const event: Record<string, unknown> = {};
	for (const field of subscriptionEventFields)
		event[field] = subscriptionEventTypes[field] === 'integer' ? Number(row[field]) : row[field];
	return event as unknown as SubscriptionEvent;
}

/** Whether two events with one `tid` say the same. */
export function sameContent(event: SubscriptionEvent, stored: SubscriptionEvent | undefined): boolean {
	return stored !== undefined && subscriptionEventFields.every((field) => event[field] === stored[field]);
}

/** A stored event as profiles know it. */
export function subscriptionEntry(
	event: Pick<StoredEvent, 'tid' | 'subid' | 'evt' | 'rvn' | 'received_at'>,
): SubscriptionEntry {
	return {
		type: 'subscription',
		atMs: event.received_at,
		tid: event.tid,
		subid: event.subid,
		evt: event.evt,
		revenuePence: event.rvn,
	};
}
