import type pg from 'pg';
import { subscriptionKey } from '../../../domain/ownership.ts';
import { forgetDays } from '../../account/arriving/forget-days.ts';
import { addTasks } from '../../account/tasks.ts';
import { type Row, raw, type Steps, sql, values } from '../../steps.ts';
import { beginWriting, commitTransaction } from './postgres-connection.ts';
import { runSteps } from './postgres-run-steps.ts';
import type { Queryable } from './server-capabilities.ts';

/** Events that a transaction sets aside. */
const pageRows = 5000;

const movedColumns = ['id', 'tid', 'subid', 'evt', 'rvn', 'received_at', 'request_id'];

export interface Repeats {
	readonly events: number;
	/** How many of them differ from the event that is kept. */
	readonly differing: number;
}

/**
 * Sets aside the events whose `tid` is stored already. An index whose collation has changed has let them in; the contract
 * would have counted them as duplicates. The first of each is kept, and the others go to a table of their own, without what
 * names a customer. Visitors who had them are folded again.
 */
export async function setRepeatsAside(client: pg.PoolClient, schema: string): Promise<Repeats> {
	let [events, differing] = [0, 0];
	for (;;) {
		const { rows } = await client.query<Row>(
			`SELECT ${movedColumns.join(', ')}, vid, named, differs FROM (
				SELECT event.*, row_number() OVER same AS place,
					ROW(subid, cid, evt, rvn)::text <> first_value(ROW(subid, cid, evt, rvn)::text) OVER same AS differs
				FROM "${schema}".subscription_event AS event WHERE tid COLLATE "C" IN (
					SELECT tid COLLATE "C" FROM "${schema}".subscription_event GROUP BY 1 HAVING count(*) > 1
				) WINDOW same AS (PARTITION BY tid COLLATE "C" ORDER BY id)
			) AS numbered WHERE place > 1 ORDER BY id LIMIT ${pageRows} /* repeated events */`,
		);
		if (rows.length === 0) return { events, differing };
		await client.query(
			`CREATE TABLE IF NOT EXISTS "${schema}".repeated_event (
				id bigint NOT NULL PRIMARY KEY, tid text COLLATE "C" NOT NULL, subid text COLLATE "C" NOT NULL,
				evt text COLLATE "C" NOT NULL, rvn bigint NOT NULL, received_at bigint NOT NULL, request_id text COLLATE "C",
				differs integer NOT NULL -- 1: from the event that is kept
			)`,
		);
		await client.query(beginWriting);
		await runSteps(client, { schema }, moveRows(rows));
		await commitTransaction(client);
		events += rows.length;
		differing += rows.filter((row) => row.differs).length;
	}
}

function* moveRows(rows: readonly Row[]): Steps<void> {
	const moved = rows.map(({ differs, ...row }) => [
		...movedColumns.map((column) => row[column] ?? null),
		differs ? 1 : 0,
	]);
	const visitors = rows.flatMap(({ vid }) => (vid === null ? [] : [`f:${vid}`]));
	// Whose a subscription is may have followed from them.
	const subscriptions = rows.flatMap(({ named, subid }) =>
		Number(named) > 0 ? [subscriptionKey(String(subid))] : [],
	);
	yield [
		sql`INSERT INTO @repeated_event (${raw(movedColumns.join(', '))}, differs) ${values(moved)} /* repeated events */`,
		sql`DELETE FROM @subscription_event WHERE id IN (SELECT CAST(column1 AS bigint) FROM (${values(rows.map(({ id }) => [Number(id)]))}) AS list) /* repeated events */`,
		forgetDays(rows.map(({ received_at }) => Number(received_at))),
	];
	yield* addTasks([...visitors, ...subscriptions]);
}

/** What to tell the operator of repeats. */
export function sentenceOf({ events, differing }: Repeats, schema: string): string {
	return `${events} repeats of stored events, let in by a changed collation, were set aside in ${schema}.repeated_event, ${differing} of them with other content than the first, which is kept`;
}

/** The repeats that have been set aside in a schema. */
export async function repeatsSetAside(asked: Queryable, schema: string): Promise<Repeats | undefined> {
	const { rowCount } = await asked.query(
		"SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'repeated_event'",
		[schema],
	);
	if (rowCount === 0) return undefined;
	const { rows } = await asked.query(
		`SELECT count(*) AS events, coalesce(sum(differs), 0) AS differing FROM "${schema}".repeated_event`,
	);
	return { events: Number(rows[0].events), differing: Number(rows[0].differing) };
}
