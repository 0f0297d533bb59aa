import {
	allEventColumns,
	arrivedBy,
	eventOf,
	type SubscriptionEvent,
} from '../../../domain/subscription-event.ts';

/** What is stored with a `tid`, for the client that uploaded it. */
export interface Receipt {
	readonly event: SubscriptionEvent;
	readonly receivedAtMs: number;
	/** When it happened, if it told. */
	readonly atMs?: number;
	/** Null for imported events, and for events stored by a version that did not record it. */
	readonly requestId: string | null;
	/** Whether the event belongs to a known visitor. */
	readonly joined: boolean;
}

export const receiptColumns = [
	...allEventColumns.map((column) => `event.${column}`),
	'event.vid IS NOT NULL AS joined',
].join(', ');

export function toReceipt(row: Readonly<Record<string, unknown>>): Receipt {
	return {
		event: eventOf(row),
		receivedAtMs: Number(row.arrived_at ?? row.received_at),
		...(row.arrived_at != null && { atMs: Number(row.received_at) }),
		requestId: arrivedBy(row.request_id).requestId,
		joined: Boolean(row.joined),
	};
}
