import type { SubscriptionEntry } from './profile.ts';

/** A subscription event (section 2.2 of the specification); `rvn` in British pence. */
export interface SubscriptionEvent {
	readonly tid: string;
	readonly subid: string;
	/** Null: none was sent. */
	readonly cid: string | null;
	readonly evt: string;
	readonly rvn: number;
}

/** An event as it is uploaded. */
export interface UploadedEvent extends SubscriptionEvent {
	/** When it happened, where that was sent. */
	readonly atMs?: number;
}

/** When and by which request an event arrived; shared by all events of an upload. */
export interface Arrival {
	readonly receivedAtMs: number;
	/** Absent for imported events. */
	readonly requestId?: string;
	/** The id of the API key; not the key. */
	readonly keyId?: string;
}

/** An event as stored in an account's database. */
export interface StoredEvent extends SubscriptionEvent {
	/** When it happened, as far as is known: when it arrived, unless it told. Milliseconds since 1970. */
	readonly received_at: number;
	/** See `requestText`. Null for imported events, and for events stored by a version that did not record it. */
	readonly request_id: string | null;
	/** When it arrived, if it told when it happened. */
	readonly arrived_at?: number;
}

/** Types of the fields, in the order of the columns of `subscription_event`. */
const subscriptionEventTypes = {
	tid: 'text',
	subid: 'text',
	cid: 'text',
	evt: 'text',
	rvn: 'integer',
} as const satisfies Record<keyof SubscriptionEvent, 'text' | 'integer'>;

/** The fields, in column order. All code that stores, reads or copies events derives from this list. */
export const subscriptionEventFields = Object.keys(subscriptionEventTypes) as (keyof SubscriptionEvent)[];

/** Fields that tell events apart by kind, and what sentences call them. They have few values. Reports can be filtered by each. */
export const eventLabels = { evt: 'event type' } as const satisfies Partial<
	Record<keyof SubscriptionEvent, string>
>;
export type EventLabel = keyof typeof eventLabels;
export const eventLabelNames = Object.keys(eventLabels) as EventLabel[];

/** The labels of an event, alone. */
export function labelsOf(event: Pick<SubscriptionEvent, EventLabel>): Pick<SubscriptionEvent, EventLabel> {
	return Object.fromEntries(eventLabelNames.map((name) => [name, event[name]])) as typeof event;
}

/** Whether an event, or what has its labels, has those that are wanted. */
export function hasLabels(
	labelled: Pick<SubscriptionEvent, EventLabel>,
	wanted: Readonly<Record<EventLabel, string | null>>,
): boolean {
	return eventLabelNames.every((name) => wanted[name] === null || labelled[name] === wanted[name]);
}

/** The fields and the arrival, in column order. `id`, the order of arrival, and `vid` are added by the store. */
export const storedEventColumns: readonly (keyof StoredEvent)[] = [
	...subscriptionEventFields,
	...(['received_at', 'request_id'] as const),
];

/** All columns, with the arrival of events that told when they happened. */
export const allEventColumns: readonly (keyof StoredEvent)[] = [...storedEventColumns, 'arrived_at'];

/** The values of the arrival columns, which follow the fields. */
export function arrivalValues({ receivedAtMs, requestId, keyId }: Arrival): [number, string | null] {
	return [receivedAtMs, requestId === undefined ? null : requestText(requestId, keyId)];
}

/** The request that stored an event, and its key, as one column: a column of its own would cost each upload more. */
export function requestText(requestId: string, keyId: string | undefined): string {
	return keyId === undefined ? requestId : `${requestId} ${keyId}`;
}

/** The reverse. Versions that did not record the key stored the id of the request alone. */
export function arrivedBy(requestText: unknown): { requestId: string | null; keyId: string | null } {
	if (requestText === null || requestText === undefined) return { requestId: null, keyId: null };
	const [requestId = '', keyId = null] = String(requestText).split(' ');
	return { requestId, keyId };
}

/** The row of a newly arrived event. Written out, because a loop over the fields costs several times as much. */
export function storedEvent({ tid, subid, cid, evt, rvn }: SubscriptionEvent, arrival: Arrival): StoredEvent {
	const [received_at, request_id] = arrivalValues(arrival);
	return { tid, subid, cid, evt, rvn, received_at, request_id };
}

/** The row of a newly arrived event that may tell when it happened. */
export function uploadedEvent(event: UploadedEvent, arrival: Arrival): StoredEvent {
	const stored = storedEvent(event, arrival);
	if (event.atMs === undefined) return stored;
	return { ...stored, received_at: event.atMs, arrived_at: arrival.receivedAtMs };
}

/** Whether an event told when it happened. */
export function isTold({ arrived_at }: Pick<StoredEvent, 'arrived_at'>): boolean {
	return arrived_at !== undefined;
}

/** The values of an event, in column order. */
export function valuesOf({ tid, subid, cid, evt, rvn }: SubscriptionEvent): EventValues {
	return [tid, subid, cid, evt, rvn];
}
type EventValues = [string, string, string | null, string, number];

/** The reverse. @param from the place of the first value */
export function eventFrom(values: readonly unknown[], from: number): SubscriptionEvent {
	const [tid, subid, cid, evt, rvn] = values.slice(
		from,
		from + subscriptionEventFields.length,
	) as EventValues;
	return { tid, subid, cid, evt, rvn };
}

/** The event in a row, without its other columns. */
export function eventOf(row: Readonly<Record<string, unknown>> | SubscriptionEvent): SubscriptionEvent {
	const event: Record<string, unknown> = {};
	for (const field of subscriptionEventFields)
		event[field] = subscriptionEventTypes[field] === 'integer' ? Number(row[field]) : row[field];
	return event as unknown as SubscriptionEvent;
}

/** Whether two events with the same `tid` have the same content. */
export function sameContent(event: SubscriptionEvent, stored: SubscriptionEvent | undefined): boolean {
	return stored !== undefined && subscriptionEventFields.every((field) => event[field] === stored[field]);
}

/** A stored event, reduced to what profiles need. */
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
