import { type ClientTable, clientTables } from '../../../src/core/store/account/client-tables.ts';
import { tableRows } from '../../../src/core/store/account/reading/rows.ts';
import { settleAll } from '../../../src/core/store/settle-all.ts';
import type { Row, Steps, Value } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';

/** The rows of a table of an account, in the order of its key. */
export async function rowsIn(store: OpenStore, accountId: number, table: ClientTable): Promise<Row[]> {
	if (table === 'hit') await settleAll(store, accountId);
	const rows = await store.read(accountId, tableRows(table, undefined, Number.MAX_SAFE_INTEGER));
	return rows.map((row) =>
		Object.fromEntries(clientTables[table].columns.map((name, column) => [name, row[column] as Value])),
	);
}

/** Sets columns of the rows of a table of an account that have these values. */
export function changeRows(
	store: OpenStore,
	accountId: number,
	table: ClientTable,
	changed: Row,
	where: Row = {},
): Promise<void> {
	const set = Object.keys(changed).map((column) => `${column} = ?`);
	const conditions = ['1 = 1', ...Object.keys(where).map((column) => `${column} = ?`)];
	const values = [...Object.values(changed), ...Object.values(where)];
	return store.transact(accountId, function* (): Steps<void> {
		yield [{ sql: `UPDATE @${table} SET ${set.join(', ')} WHERE ${conditions.join(' AND ')}`, values }];
	});
}

/** Adds a row as it is to a table of an account. */
export function addRow(store: OpenStore, accountId: number, table: ClientTable, row: Row): Promise<void> {
	return store.transact(accountId, function* (): Steps<void> {
		const columns = Object.keys(row).join(', ');
		yield [{ sql: `INSERT INTO @${table} (${columns}) ?rows`, rows: [Object.values(row)] }];
	});
}
