import { eventOf, type SubscriptionEvent, storedEventColumns } from '../../domain/subscription-event.ts';

/** What is stored with a `tid`, for the client that has uploaded it. */
export interface Receipt {
	readonly event: SubscriptionEvent;
	readonly receivedAtMs: number;
	/** Null: imported, or stored before this was kept. */
	readonly requestId: string | null;
	/** Whether the event is of a visitor who is known. */
	readonly joined: boolean;
}

/** What a receipt is made of. */
export const receiptColumns = [
	...storedEventColumns.map((column) => `event.${column}`),
	'event.vid IS NOT NULL AS joined',
].join(', ');

export function toReceipt(row: Readonly<Record<string, unknown>>): Receipt {
	return {
		event: eventOf(row),
		receivedAtMs: Number(row.received_at),
		requestId: row.request_id === null ? null : String(row.request_id),
		joined: Boolean(row.joined),
	};
}
