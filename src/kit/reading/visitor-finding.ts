import { type Reading, rowsOf } from '../../core/store/steps.ts';

/** What somebody who looks for a visitor knows. */
export interface SearchedKey {
	readonly kind: 'cid' | 'tid' | 'subid';
	readonly value: string;
}

export interface FoundVisitor {
	readonly vid: string;
	/** Whether one of the visitor's hits has shown the key. Hits show no `subid`. */
	readonly shown: boolean;
	/** How many of the visitor's subscription events have it. */
	readonly events: number;
}

/**
 * The visitors who have shown a key, or own subscription events with it, by `vid`; none who is being erased.
 * @param limit how many at most
 */
export function* visitorsWith(
	{ kind, value }: SearchedKey,
	limit = Number.MAX_SAFE_INTEGER,
): Reading<FoundVisitor[]> {
	const parts = conditionsOf(kind);
	const rows = yield* rowsOf([
		{
			sql: `SELECT vid, max(shown) AS shown, sum(events) AS events FROM (
				SELECT vid, 1 AS shown, 0 AS events FROM @claim WHERE key = ?
				${parts.map((part) => `UNION ALL SELECT vid, 0, count(*) FROM @subscription_event WHERE ${part} AND vid IS NOT NULL GROUP BY vid`).join('\n')}
			) AS found
			WHERE NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || found.vid)
			GROUP BY vid ORDER BY vid LIMIT ? /* find visitors */`,
			values: [kind === 'subid' ? '' : `${kind.slice(0, 1)}:${value}`, ...parts.map(() => value), limit],
		},
	]);
	return rows.map(({ vid, shown, events }) => ({
		vid: String(vid),
		shown: Number(shown) === 1,
		events: Number(events),
	}));
}

/** Conditions with a value each, of which one holds: there are two indexes by `subid`. */
export function conditionsOf(kind: SearchedKey['kind']): string[] {
	return kind === 'subid' ? ['subid = ? AND named > 0', 'subid = ? AND named = 0'] : [`${kind} = ?`];
}
