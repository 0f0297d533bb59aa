import type { Insertable, Selectable, Updateable } from 'kysely';
import type { ControlDatabase, ControlTables } from './tables.ts';

// Most statements of the control database are about the rows with certain values. `null` is a value. What tables these
// functions get is checked by their own types, since Kysely's do not work for a table that is not known yet.

type RowOf<Table extends keyof ControlTables> = Selectable<ControlTables[Table]>;
type Values<Table extends keyof ControlTables> = Partial<RowOf<Table>>;

/** @param order columns */
export async function selectRows<Table extends keyof ControlTables>(
	database: ControlDatabase,
	table: Table,
	values: Values<Table>,
	...order: (keyof RowOf<Table> & string)[]
): Promise<RowOf<Table>[]> {
	let query = database.selectFrom(table as 'client').selectAll();
	query = query.where(({ and }) => and(values));
	for (const column of order) query = query.orderBy(column as 'id');
	return (await query.execute()) as never;
}

export async function insertRows<Table extends keyof ControlTables>(
	database: ControlDatabase,
	table: Table,
	rows: Insertable<ControlTables[Table]> | readonly Insertable<ControlTables[Table]>[],
): Promise<void> {
	await database.insertInto(table).values(rows).execute();
}

/** @returns how many there were */
export async function updateRows<Table extends keyof ControlTables>(
	database: ControlDatabase,
	table: Table,
	values: Values<Table>,
	changes: Updateable<ControlTables[Table]>,
): Promise<number> {
	const query = database.updateTable(table as 'client').set(changes);
	return Number((await query.where(({ and }) => and(values)).executeTakeFirst()).numUpdatedRows);
}

/** @returns how many there were */
export async function deleteRows<Table extends keyof ControlTables>(
	database: ControlDatabase,
	table: Table,
	values: Values<Table>,
): Promise<number> {
	const query = database.deleteFrom(table as 'client').where(({ and }) => and(values));
	return Number((await query.executeTakeFirst()).numDeletedRows);
}

/** The number of the latest change that running servers notice. */
export async function selectRevision(database: ControlDatabase): Promise<number> {
	return (await database.selectFrom('revision').select('number').executeTakeFirstOrThrow()).number;
}

/**
 * The sequence number of a new row, after all others of its table. Changes of the control database are serialised, so
 * numbers are unique.
 */
export async function nextSeq(
	database: ControlDatabase,
	table: {
		[Table in keyof ControlTables]: ControlTables[Table] extends { seq: number } ? Table : never;
	}[keyof ControlTables],
): Promise<number> {
	const { last } = await database
		.selectFrom(table as 'goal')
		.select(({ fn }) => fn.max<number | null>('seq').as('last'))
		.executeTakeFirstOrThrow();
	return (last ?? 0) + 1;
}
