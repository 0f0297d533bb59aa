import type { SQLInputValue } from 'node:sqlite';
import { isEmpty, type Lock, type Query, type Row, type Settle, type Steps } from '../steps.ts';
import type { Connection } from './connection.ts';
import { settling } from './recent-hits.ts';

/** Statements as SQLite takes them, by their text and number of rows. */
const texts = new Map<string, string>();

/** Runs a transaction's steps on a connection that has begun it. There is one writer, so locks have been taken. */
export function runSteps<Outcome>(connection: Connection, steps: Steps<Outcome>): Outcome {
	let step = steps.next();
	while (!step.done) step = steps.next(step.value.map((query) => run(connection, query)));
	return step.value;
}

function run(connection: Connection, query: Query | Lock | Settle): readonly Row[] {
	if ('settle' in query) return runSteps(connection, settling(query));
	if ('lock' in query || isEmpty(query)) return [];
	if (query.wakes) connection.wakes = true;
	const { sql, values = [], rows } = query;
	if (rows) return insertChunks(rows).flatMap((chunk) => runOnce(connection, sql, values, chunk));
	return runOnce(connection, sql, values, []);
}

/** Few different sizes, so that statements are few, and none has more parameters than SQLite takes. */
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
): Row[] {
	const statement = connection.statement(textOf(sql, values, rows));
	const parameters = [
		...values.map((value) => (Array.isArray(value) ? (single(value) ?? JSON.stringify(value)) : value)),
		...rows.flat(),
	];
	return statement.all(...(parameters as SQLInputValue[])) as Row[];
}

/** The only element of a list: most lists have one, and taking a list apart costs as much as the look-up. */
function single(value: NonNullable<Query['values']>[number] | undefined): string | undefined {
	return Array.isArray(value) && value.length === 1 ? value[0] : undefined;
}

function textOf(sql: string, values: NonNullable<Query['values']>, rows: NonNullable<Query['rows']>): string {
	const singles = values.map((value) => (single(value) === undefined ? '' : '1')).join();
	const name = `${rows.length} ${singles} ${sql}`;
	let text = texts.get(name);
	if (text === undefined) {
		const row = `(${Array.from(rows[0] ?? [], () => '?').join(', ')})`;
		let value = 0;
		text = sql
			.replaceAll('@', '')
			.replaceAll(/IN \?list|\?each|\?rows|\?/g, (placeholder) => {
				if (placeholder === '?rows') return `VALUES ${rows.map(() => row).join(', ')}`;
				const isSingle = single(values[value++]) !== undefined;
				if (placeholder === 'IN ?list') return isSingle ? '= ?' : 'IN (SELECT value FROM json_each(?))';
				if (placeholder === '?each')
					return isSingle ? '(SELECT ? AS key)' : '(SELECT value AS key FROM json_each(?))';
				return placeholder;
			})
			.replace(' FOR UPDATE', '');
		texts.set(name, text);
	}
	return text;
}
