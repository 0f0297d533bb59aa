import { OperatorError } from '../../../core/errors.ts';
import { type ClientTable, clientTableNames } from '../../../core/store/account/client-tables.ts';
import type { ControlContent } from '../../../core/store/control/control-store.ts';
import type { Value } from '../../../core/store/steps.ts';

/**
 * Receives another store's content. Accounts come first and the control tables last, in one transaction. Until then the
 * store has no key, so a server that is started on half a copy admits nobody.
 */
export interface CopyTarget {
	/**
	 * @param source identifies the source store, the same in every attempt
	 * @param accountIds its accounts; a new copy requires that the target has no data of them
	 * @returns whether an earlier attempt is resumed
	 * @throws OperatorError where the store contains anything but an unfinished copy of that source
	 */
	begin(source: string, accountIds: readonly number[]): Promise<'new' | 'resumed'>;
	/** The key of the last row that an earlier attempt copied; `undefined` if there is none. */
	lastKey(accountId: number, table: ClientTable): Promise<Value[] | undefined>;
	/** Adds rows in key order, as arrays in column order. */
	addRows(accountId: number, table: ClientTable, rows: readonly (readonly Value[])[]): Promise<void>;
	/** Adds the control tables, which completes the copy. */
	finish(content: ControlContent): Promise<void>;
	close(): Promise<void>;
}

/** A control table's rows as arrays, in the order of its columns by name. */
export function controlRows(
	content: ControlContent,
	table: string,
): { readonly columns: readonly string[]; readonly rows: readonly Value[][] } {
	const rows = content[table] ?? [];
	const columns = Object.keys(rows[0] ?? {}).sort();
	return { columns, rows: rows.map((row) => columns.map((column) => row[column] as Value)) };
}

/**
 * Checks the target before a copy begins. Rows of unknown accounts count too: a deleted control database leaves them
 * behind.
 */
export async function checkCopyTarget(
	copyTarget: Pick<CopyTarget, 'lastKey'>,
	attempt: { source: string; accountIds: readonly number[] },
	found: { source: string | undefined; isEmpty: boolean },
): Promise<'new' | 'resumed'> {
	if (found.source !== undefined && found.source !== attempt.source)
		throw new OperatorError('A copy of another source is under way there; choose an empty target.');
	if (!found.isEmpty)
		throw new OperatorError('The target of the copy is not empty: it has clients or plans of its own.');
	if (found.source !== undefined) return 'resumed';
	for (const accountId of attempt.accountIds)
		for (const table of clientTableNames)
			if (await copyTarget.lastKey(accountId, table))
				throw new OperatorError('The target of the copy is not empty: it has data of accounts.');
	return 'new';
}
