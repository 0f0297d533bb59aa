import {
	eventOf,
	type SubscriptionEvent,
	subscriptionEventFields,
} from '../../../domain/subscription-event.ts';
import { isoTime } from '../../../format/iso-time.ts';
import { type Reading, rowsOf } from '../../steps.ts';
import type { Store } from '../../store.ts';

export interface StoredSubscriptionEvent extends SubscriptionEvent {
	/** ISO 8601, UTC. */
	readonly receivedAt: string;
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
	const rows = yield* rowsOf({
		sql: `SELECT id, ${subscriptionEventFields.join(', ')}, received_at FROM @subscription_event WHERE id > ?${tid === undefined ? '' : ' AND tid = ?'} ORDER BY id LIMIT ${pageRows} /* events */`,
		values: [afterId, ...(tid === undefined ? [] : [tid])],
	});
	return rows.map((row) => ({
		id: Number(row.id),
		event: { ...eventOf(row), receivedAt: isoTime(Number(row.received_at)) },
	}));
}
