import type { SQLInputValue } from 'node:sqlite';
import { dialects, SqlTexts } from '../../dialects.ts';
import {
	isEmpty,
	type Lock,
	type Query,
	type Row,
	type Settle,
	type Steps,
	type Stream,
} from '../../steps.ts';
import { settling } from '../queue/recent-hits.ts';
import type { Connection } from './sqlite-connection.ts';

const texts = new SqlTexts(dialects.sqlite);

/**
 * Runs a transaction's steps on a connection that has begun it. There is one writer, so advisory locks are not needed.
 */
export function runSteps<Outcome>(connection: Connection, steps: Steps<Outcome>): Outcome {
	let step = steps.next();
	while (!step.done) step = steps.next(step.value.map((query) => run(connection, query)));
	return step.value;
}

function run(connection: Connection, query: Query | Lock | Settle | Stream): readonly Row[] {
	if ('take' in query) return runStream(connection, query);
	if ('settle' in query) return runSteps(connection, settling(query));
	if ('lock' in query || isEmpty(query)) return [];
	if (query.wakes) connection.wakes = true;
	const { sql, values = [], rows, asTuples } = query;
	if (rows) return insertChunks(rows).flatMap((chunk) => runOnce(connection, sql, values, chunk));
	return runOnce(connection, sql, values, [], asTuples);
}

function runStream(connection: Connection, { next, take }: Stream): readonly Row[] {
	let rows: readonly Row[] | undefined;
	for (let query = next(rows); query; query = next(rows)) {
		rows = run(connection, query);
		take(rows);
	}
	return [];
}

/** Few sizes, so that there are few statements; none exceeds SQLite's limit of parameters. */
const chunkSizes = [256, 64, 16, 4, 1];

function insertChunks(rows: NonNullable<Query['rows']>): NonNullable<Query['rows']>[] {
	const chunks: NonNullable<Query['rows']>[] = [];
	for (let from = 0; from < rows.length; ) {
		const size = chunkSizes.find((candidate) => candidate <= rows.length - from) ?? 1;
		chunks.push(rows.slice(from, from + size));
		from += size;
	}
	return chunks;
}

function runOnce(
	connection: Connection,
	sql: string,
	values: NonNullable<Query['values']>,
	rows: NonNullable<Query['rows']>,
	asTuples = false,
): Row[] {
	const statement = connection.statement(textOf(sql, values, rows));
	if (asTuples) statement.setReturnArrays(true);
	const parameters: SQLInputValue[] = [];
	for (const value of values)
		parameters.push(
			typeof value === 'object' && value !== null ? (single(value) ?? JSON.stringify(value)) : value,
		);
	for (const row of rows) for (const value of row) parameters.push(value);
	return statement.all(...parameters) as Row[];
}

/** The only element of a list. Most lists have one, and expanding a list costs as much as the look-up. */
function single(value: NonNullable<Query['values']>[number] | undefined): string | undefined {
	return Array.isArray(value) && value.length === 1 ? value[0] : undefined;
}

function textOf(sql: string, values: NonNullable<Query['values']>, rows: NonNullable<Query['rows']>): string {
	// A number that identifies the statement's shape: the number of rows, and a bit for each value.
	let name = rows.length;
	for (const value of values) name = name * 2 + (single(value) === undefined ? 0 : 1);
	const [text] = texts.of(sql, name, () => ({
		singles: values.map((value) => single(value) !== undefined),
		rows: rows.length,
		columns: (rows[0] ?? []).map(() => 'text'),
	}));
	return text as string;
}
