import type pg from 'pg';
import { isEmpty, type Lock, type Query, type Row, type Settle, type Steps } from '../steps.ts';
import { together } from './connection.ts';
import { lockKeys } from './key-locks.ts';

/** Keeps imports of an account apart. The number is the ASCII of "impo". */
const importLock = 0x696d706f;
/** Of several processes one at a time folds for an account. The number is the ASCII of "fold". */
const foldLock = 0x666f6c64;
/** PostgreSQL takes at most so many in one statement. */
const maxParameters = 65_535;

/** Runs a transaction's steps on a connection that has begun it; the statements of a step share a round trip. */
export async function runSteps<Outcome>(
	client: pg.ClientBase,
	schema: string,
	steps: Steps<Outcome>,
): Promise<Outcome> {
	let step = steps.next();
	while (!step.done)
		step = steps.next(await together(step.value.map((query) => runQuery(client, schema, query))));
	return step.value;
}

/** Connections whose transactions have left something to the background. */
const waking = new WeakSet<pg.ClientBase>();

/** Whether something has been left to the background on a connection; asked once its transaction is committed. */
export function hasBackgroundWork(client: pg.ClientBase): boolean {
	return waking.delete(client);
}

export async function runQuery(
	client: pg.ClientBase,
	schema: string,
	query: Query | Lock | Settle,
): Promise<readonly Row[]> {
	if ('settle' in query) return [];
	if ('lock' in query) return lock(client, schema, query);
	if (isEmpty(query)) return [];
	if (query.wakes) waking.add(client);
	if (!query.rows) return (await client.query(textOf(schema, query), [...(query.values ?? [])])).rows;
	const rowsPerInsert = Math.floor(maxParameters / (query.rows[0]?.length ?? 1));
	const results: Row[] = [];
	for (let from = 0; from < query.rows.length; from += rowsPerInsert) {
		const some = query.rows.slice(from, from + rowsPerInsert);
		const { rows } = await client.query(textOf(schema, { ...query, rows: some }), some.flat());
		results.push(...rows);
	}
	return results;
}

async function lock(client: pg.ClientBase, schema: string, lock: Lock): Promise<[]> {
	if ('keys' in lock) await lockKeys(client, schema, lock);
	else
		await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2)) /* lock account */', [
			lock.lock === 'import' ? importLock : foldLock,
			schema,
		]);
	return [];
}

function textOf(schema: string, { sql, rows = [] }: Query): string {
	let number = 0;
	const next = () => `$${++number}`;
	return sql
		.replaceAll('@logged_hit', '@hit')
		.replaceAll(/@(?=[a-z])/g, `"${schema}".`)
		.replaceAll(/IN \?list|\?each|\?rows|\?/g, (token) => {
			if (token === 'IN ?list') return `= ANY(${next()}::text[])`;
			if (token === '?each') return `unnest(${next()}::text[])`;
			if (token === '?') return next();
			return `VALUES ${rows.map((row) => `(${row.map(next).join(', ')})`).join(', ')}`;
		})
		.replace(/(unnest\(\$\d+::text\[\]\)) AS list/, '$1 AS list (key)');
}
