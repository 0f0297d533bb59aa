import {
	eventOf,
	type SubscriptionEvent,
	subscriptionEventFields,
} from '../../../domain/subscription-event.ts';
import { isoTime } from '../../../format/iso-time.ts';
import { type Reading, type Row, raw, select } from '../../steps.ts';
import type { Store } from '../../store.ts';

export interface StoredSubscriptionEvent extends SubscriptionEvent {
	/** When it arrived. ISO 8601, UTC. */
	readonly receivedAt: string;
	/** When it happened, where it told. */
	readonly at?: string;
}

const pageRows = 1000;

/** Stored events in order of arrival, a page at a time. */
export async function* subscriptionEvents(
	store: Pick<Store, 'read'>,
	accountId: number,
	filter: { readonly tid?: string | undefined } = {},
): AsyncIterable<StoredSubscriptionEvent> {
	for (let afterId = 0; ; ) {
		const page = await store.read(accountId, eventsAfter(afterId, filter.tid));
		for (const { id, event } of page) {
			afterId = id;
			yield event;
		}
		if (page.length < pageRows) return;
	}
}

function* eventsAfter(
	afterId: number,
	tid: string | undefined,
): Reading<{ id: number; event: StoredSubscriptionEvent }[]> {
	const fields = raw(subscriptionEventFields.join(', '));
	const page = raw(`ORDER BY id LIMIT ${pageRows} /* events */`);
	const rows =
		tid === undefined
			? yield* select`id, ${fields}, received_at, arrived_at FROM @subscription_event WHERE id > ${afterId} ${page}`
			: yield* select`id, ${fields}, received_at, arrived_at FROM @subscription_event WHERE id > ${afterId} AND tid = ${tid} ${page}`;
	return rows.map((row) => ({
		id: Number(row.id),
		event: {
			...eventOf(row),
			...timesOf(row),
		},
	}));
}

/** When an event arrived, and when it happened where it told. */
export function timesOf({
	received_at,
	arrived_at,
}: Row): Pick<StoredSubscriptionEvent, 'receivedAt' | 'at'> {
	return {
		receivedAt: isoTime(Number(arrived_at ?? received_at)),
		...(arrived_at !== null && { at: isoTime(Number(received_at)) }),
	};
}
