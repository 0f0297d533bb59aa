import {
	type Arrival,
	arrivalValues,
	type SubscriptionEvent,
	subscriptionEventFields,
	subscriptionEventTypes,
} from '../../domain/subscription-event.ts';
import type { Upload } from '../store.ts';

/** An upload as sent to the writer thread. One string is copied faster than 150. */
export interface PackedUpload extends Arrival {
	/** All fields of all events in order, separated by U+001F, which no field may contain. An absent field is empty. */
	readonly fields: string;
	readonly simulate: boolean;
	readonly tellsConflicts?: boolean;
}

export const fieldSeparator = '\u001f';

const fieldsPerEvent = subscriptionEventFields.length;
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
	readonly #arrival: readonly EventValue[];

	constructor(upload: PackedUpload) {
		this.#texts = upload.fields.split(fieldSeparator);
		this.#arrival = arrivalValues(upload);
		this.total = this.#texts.length / fieldsPerEvent;
	}

	#value(row: number, field: number): EventValue {
		const text = this.#texts[row * fieldsPerEvent + field] as string;
		return areIntegers[field] ? Number(text) : text || null;
	}

	/** The parameters to insert a range of the events. */
	parameters(from: number, rows: number): EventValue[] {
		const [texts, arrival] = [this.#texts, this.#arrival];
		const parameters: EventValue[] = [];
		let at = from * fieldsPerEvent;
		for (let row = 0; row < rows; row++) {
			for (let field = 0; field < fieldsPerEvent; field++) {
				const text = texts[at++] as string;
				parameters.push(areIntegers[field] ? Number(text) : text || null);
			}
			for (let index = 0; index < arrival.length; index++) parameters.push(arrival[index] as EventValue);
		}
		return parameters;
	}

	events(): SubscriptionEvent[] {
		return Array.from(
			{ length: this.total },
			(_, row) =>
				Object.fromEntries(
					subscriptionEventFields.map((name, field) => [name, this.#value(row, field)]),
				) as unknown as SubscriptionEvent,
		);
	}
}
