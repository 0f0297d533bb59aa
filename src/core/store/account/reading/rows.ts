import {
	type Reading,
	type Row,
	raw,
	rowsOf,
	type Select,
	select,
	tuplesOf,
	type Value,
} from '../../steps.ts';
import { type ClientTable, clientTables } from '../client-tables.ts';

/** The number of rows of a table, without recent hits that an engine stores separately. */
export function* countRows(table: ClientTable): Reading<number> {
	const [row] = yield* select`count(*) AS number FROM @${raw(table)} /* count */`;
	return Number(row?.number);
}

/**
 * A page of a table in key order; each row is an array in column order. Recent hits that an engine stores separately are
 * in `hit` only once they are settled, see `settle-all.ts`.
 * @param after the key of the last row of the previous page
 */
export function* tableRows(
	table: ClientTable,
	after: readonly Value[] | undefined,
	limit: number,
): Reading<readonly (readonly Value[])[]> {
	const { columns, key } = clientTables[table];
	const isLater = after ? ` WHERE (${key.join(', ')}) > (${after.map(() => '?').join(', ')})` : '';
	const rows = yield* rowsOf([
		{
			sql: `SELECT ${columns.join(', ')} FROM @${table}${isLater} ORDER BY ${key.join(', ')} LIMIT ? /* rows */`,
			values: [...(after ?? []), limit],
			asTuples: true,
		},
	]);
	return tuplesOf(rows);
}

/** A statement about some names, and in which order each name's rows matter. */
export interface OfNames {
	/** Has one list, the names, after the values. */
	readonly sql: Select['sql'];
	readonly values: readonly Value[];
	readonly order: string;
	/** Of all names together. */
	readonly maxRows: number;
	/** Of each name, where there are more. */
	readonly maxRowsPerName: number;
}

/** Statements of one round trip. */
const maxStatements = 100;

/**
 * Reads the rows of several names: in one statement if there are few, else with a limit for each name. A client may send one
 * name for everybody, and that must not fill the memory.
 */
export function* rowsOfNames(
	names: readonly string[],
	{ sql, values, order, maxRows, maxRowsPerName }: OfNames,
): Reading<readonly Row[]> {
	const limited = (some: readonly string[], limit: string): Select => ({
		sql: `${sql} ${limit} /* of names */` as Select['sql'],
		values: [...values, some],
	});
	const rows = yield* rowsOf([limited(names, `LIMIT ${maxRows + 1}`)]);
	if (rows.length <= maxRows) return rows;
	const ofNames: Row[] = [];
	for (let from = 0; from < names.length; from += maxStatements) {
		const some = names.slice(from, from + maxStatements);
		const ofEach = some.map((name) => limited([name], `ORDER BY ${order} LIMIT ${maxRowsPerName}`));
		for (const row of yield* rowsOf(ofEach)) ofNames.push(row);
	}
	return ofNames;
}
