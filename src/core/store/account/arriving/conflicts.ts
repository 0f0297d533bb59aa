import type { StoredEvent } from '../../../domain/subscription-event.ts';
import { type Query, sql, values } from '../../steps.ts';

/** Keeps the conflicts of an upload for whoever tells of them. Nothing where there are none. */
export function addConflicts(events: readonly StoredEvent[], rows: readonly number[]): Query {
	const [first] = events;
	const tids = [...new Set(rows.map((row) => events[row]?.tid))];
	const added =
		first && tids.length > 0
			? [[first.arrived_at ?? first.received_at, first.request_id, JSON.stringify(tids)]]
			: [];
	return sql`INSERT INTO @conflict (at, request_id, tids) ${values(added)} /* conflicts */`;
}
