import type { Owner } from '../../../domain/ownership.ts';
import {
	type Arrival,
	arrivalValues,
	type StoredEvent,
	type SubscriptionEvent,
	storedEvent,
	subscriptionEventFields,
	subscriptionEventTypes,
} from '../../../domain/subscription-event.ts';
import type { Upload } from '../../store.ts';

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

/** The events of an upload as column values. On the hot path, so it creates no object per event. */
export class UnpackedUpload {
	readonly total: number;
	readonly #texts: readonly string[];
	readonly #upload: PackedUpload;

	constructor(upload: PackedUpload) {
		this.#upload = upload;
		this.#texts = upload.fields.split(fieldSeparator);
		this.total = this.#texts.length / fieldsPerEvent;
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

	events(): SubscriptionEvent[] {
		return Array.from({ length: this.total }, (_, row) => {
			const event: Record<string, EventValue> = {};
			for (let field = 0; field < fieldsPerEvent; field++)
				event[subscriptionEventFields[field] as string] = this.#value(row, field);
			return event as unknown as SubscriptionEvent;
		});
	}

	/** The events as they are stored. */
	storedEvents(): StoredEvent[] {
		return this.events().map((event) => storedEvent(event, this.#upload));
	}
}
