import { type Reading, rowsOf } from '../../steps.ts';

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

/** The visitors who have shown a key, or own subscription events with it, by `vid`; none who is being erased. */
export function* visitorsWith({ kind, value }: SearchedKey): Reading<FoundVisitor[]> {
	const rows = yield* rowsOf({
		sql: `SELECT vid, max(shown) AS shown, sum(events) AS events FROM (
				SELECT vid, 1 AS shown, 0 AS events FROM @claim WHERE key = ?
				UNION ALL
				SELECT vid, 0, count(*) FROM @subscription_event WHERE ${kind} = ? AND vid IS NOT NULL GROUP BY vid
			) AS found
			WHERE NOT EXISTS (SELECT 1 FROM @task AS task WHERE task.name = 'e:' || found.vid)
			GROUP BY vid ORDER BY vid /* find visitors */`,
		values: [kind === 'subid' ? '' : `${kind.slice(0, 1)}:${value}`, value],
	});
	return rows.map(({ vid, shown, events }) => ({
		vid: String(vid),
		shown: Number(shown) === 1,
		events: Number(events),
	}));
}
