import type { Owner } from '../../core/domain/ownership.ts';
import { allEventColumns, arrivedBy, eventOf, requestText } from '../../core/domain/subscription-event.ts';
import { type StoredSubscriptionEvent, timesOf } from '../../core/store/account/reading/stored-events.ts';
import { type Reading, type Row, rowsOf, type Select } from '../../core/store/steps.ts';
import { conditionsOf, type SearchedKey } from './visitor-finding.ts';

/** A stored event, how it came, and whose it is. */
export interface TracedEvent extends StoredSubscriptionEvent {
	readonly receivedAtMs: number;
	/** When it happened: what it told, or its arrival. Everything but the console's lists of arrivals goes by it. */
	readonly happenedAtMs: number;
	/** Null for imported events, and for events stored by a version that did not record it. */
	readonly requestId: string | null;
	/** The API key of the upload, where that is known. */
	readonly keyId: string | null;
	readonly vid: string | null;
	/** What names its owner: 2 its `tid`, 1 its `cid`, 0 its subscription. */
	readonly named: Owner['named'];
}

/** Events with a `tid`, `cid` or `subid`, the latest first. */
export function* eventsWith({ kind, value }: SearchedKey, limit: number): Reading<TracedEvent[]> {
	const rows = yield* rowsOf(conditionsOf(kind).map((condition) => selectTraced(condition, [value], limit)));
	return latestFirst(rows.map(toTraced)).slice(0, limit);
}

function latestFirst(events: readonly TracedEvent[]): TracedEvent[] {
	return events.toSorted((a, b) => b.receivedAtMs - a.receivedAtMs);
}

/** Events that an upload has stored, with how many they are. */
export function* eventsOfUpload(
	{ receivedAtMs, requestId, keyId }: Pick<TracedEvent, 'receivedAtMs' | 'requestId' | 'keyId'>,
	limit: number,
): Reading<TracedEvent[]> {
	if (requestId === null) return [];
	const stored = requestText(requestId, keyId ?? undefined);
	const rows = yield* rowsOf([
		selectTraced('received_at = ? AND request_id = ? AND arrived_at IS NULL', [receivedAtMs, stored], limit),
		selectTraced('arrived_at = ? AND request_id = ?', [receivedAtMs, stored], limit),
	]);
	return rows.map(toTraced).slice(0, limit);
}

/** The events that were stored last, the latest first. */
export function* latestEvents(asOfMs: number, limit: number): Reading<TracedEvent[]> {
	const rows = yield* rowsOf([
		selectTraced('received_at <= ? AND arrived_at IS NULL', [asOfMs], limit),
		selectTraced('arrived_at <= ?', [asOfMs], limit, 'arrived_at'),
	]);
	return latestFirst(rows.map(toTraced)).slice(0, limit);
}

function selectTraced(
	condition: string,
	values: Select['values'],
	limit: number,
	order = 'received_at',
): Select {
	return {
		sql: `SELECT ${allEventColumns.join(', ')}, vid, named FROM @subscription_event WHERE ${condition} ORDER BY ${order} DESC, id DESC LIMIT ? /* traced events */`,
		values: [...(values ?? []), limit],
	};
}

function toTraced(row: Row): TracedEvent {
	const happenedAtMs = Number(row.received_at);
	const receivedAtMs = Number(row.arrived_at ?? row.received_at);
	return {
		...eventOf(row),
		...timesOf(row),
		receivedAtMs,
		happenedAtMs,
		...arrivedBy(row.request_id),
		vid: row.vid == null ? null : String(row.vid),
		named: Number(row.named) as Owner['named'],
	};
}
