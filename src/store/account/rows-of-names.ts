import type { SelectQueryBuilder } from 'kysely';
import type { ClientTables } from './tables.ts';

/**
 * Reads the rows of several names: in one statement if there are at most `max`, else with a limit for each name.
 * @param limited the statements with limits, one for each name
 */
export async function rowsOfNames<Output>(
	all: SelectQueryBuilder<ClientTables, keyof ClientTables, Output>,
	max: number,
	limited: () => readonly SelectQueryBuilder<ClientTables, keyof ClientTables, Output>[],
): Promise<Output[]> {
	const rows = await all.limit(max + 1).execute();
	if (rows.length <= max) return rows as Output[];
	const ofNames = [];
	for (const one of limited()) ofNames.push((await one.execute()) as Output[]);
	return ofNames.flat();
}
