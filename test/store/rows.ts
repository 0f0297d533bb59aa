import { tableRows } from '../../src/store/account/reading/rows.ts';
import { type ClientTable, clientTables } from '../../src/store/account/tables.ts';
import { settleAll } from '../../src/store/settle-all.ts';
import type { Row, Steps, Value } from '../../src/store/steps.ts';
import type { OpenStore } from '../../src/store/store.ts';

/** The rows of a table of an account, in the order of its key. */
export async function rowsIn(store: OpenStore, accountId: number, table: ClientTable): Promise<Row[]> {
	if (table === 'hit') await settleAll(store, accountId);
	const rows = await store.read(accountId, tableRows(table, undefined, Number.MAX_SAFE_INTEGER));
	return rows.map((row) =>
		Object.fromEntries(clientTables[table].columns.map((name, column) => [name, row[column] as Value])),
	);
}

/** Adds a row as it is to a table of an account. */
export function addRow(store: OpenStore, accountId: number, table: ClientTable, row: Row): Promise<void> {
	return store.transact(accountId, function* (): Steps<void> {
		const columns = Object.keys(row).join(', ');
		yield [{ sql: `INSERT INTO @${table} (${columns}) ?rows`, rows: [Object.values(row)] }];
	});
}
