import type { Owner } from '../../../domain/ownership.ts';
import {
	type Arrival,
	arrivalValues,
	type StoredEvent,
	type SubscriptionEvent,
	subscriptionEventFields,
	subscriptionEventTypes,
} from '../../../domain/subscription-event.ts';
import type { Arriving } from '../../account/arriving/events.ts';
import type { Upload } from '../../serving.ts';

/** An upload as sent to the writer thread. One string is copied faster than 150. */
export interface PackedUpload extends Arrival {
	/** All fields of all events in order, separated by U+001F, which no field may contain. An absent field is empty. */
	readonly fields: string;
	readonly simulate: boolean;
	readonly tellsConflicts?: boolean;
}

export const fieldSeparator = '\u001f';

const fieldsPerEvent = subscriptionEventFields.length;
const tidField = subscriptionEventFields.indexOf('tid');
const areIntegers = subscriptionEventFields.map((field) => subscriptionEventTypes[field] === 'integer');

type EventValue = string | number | null;

export function packUpload({ events, ...upload }: Upload): PackedUpload {
	let fields = '';
	for (const event of events)
		for (let field = 0; field < fieldsPerEvent; field++) {
			if (fields !== '') fields += fieldSeparator;
			fields += event[subscriptionEventFields[field] as keyof SubscriptionEvent] ?? '';
		}
	return { ...upload, fields };
}

/** An upload in the writer thread. On the hot path, so objects for its events are only created when they are needed. */
export class UnpackedUpload implements Arriving {
	readonly size: number;
	readonly tellsConflicts: boolean | undefined;
	readonly #texts: readonly string[];
	readonly #upload: PackedUpload;
	#events: readonly StoredEvent[] | undefined;

	constructor(upload: PackedUpload) {
		this.#upload = upload;
		this.#texts = upload.fields.split(fieldSeparator);
		this.size = this.#texts.length / fieldsPerEvent;
		this.tellsConflicts = upload.tellsConflicts;
	}

	get events(): readonly StoredEvent[] {
		this.#events ??= Array.from({ length: this.size }, (_, row) => {
			const event: Record<string, EventValue> = {};
			for (let field = 0; field < fieldsPerEvent; field++)
				event[subscriptionEventFields[field] as string] = this.#value(row, field);
			[event.received_at, event.request_id] = arrivalValues(this.#upload) as [EventValue, EventValue];
			return event as unknown as StoredEvent;
		});
		return this.#events;
	}

	#value(row: number, field: number): EventValue {
		const text = this.#texts[row * fieldsPerEvent + field] as string;
		return areIntegers[field] ? Number(text) : text || null;
	}

	/**
	 * The parameters to insert a range of the events.
	 * @param ownerOf whom an event names; the owner's columns follow those of the event
	 */
	parameters(from: number, rows: number, ownerOf: (tid: string) => Owner | undefined): EventValue[] {
		const [texts, arrival] = [this.#texts, arrivalValues(this.#upload)];
		const parameters: EventValue[] = [];
		let at = from * fieldsPerEvent;
		for (let row = 0; row < rows; row++) {
			const owner = ownerOf(texts[at + tidField] as string);
			for (let field = 0; field < fieldsPerEvent; field++) {
				const text = texts[at++] as string;
				parameters.push(areIntegers[field] ? Number(text) : text || null);
			}
			for (let index = 0; index < arrival.length; index++) parameters.push(arrival[index] as EventValue);
			parameters.push(owner?.vid ?? null, owner?.named ?? 0);
		}
		return parameters;
	}
}
