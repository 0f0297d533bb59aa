import type pg from 'pg';
import { ConcurrentChangeError } from '../../../errors.ts';
import { clientTableNames, isNumbered } from '../../account/tables.ts';
import type { Query, WriteStep } from '../../steps.ts';
import { capabilitiesOf } from './capabilities.ts';
import { isLockTimeout, poolOf } from './connection.ts';

// On a cluster, any node may be asked for any account, and accounts move. What follows makes locks and numbers count for
// everybody, whichever node a server asks.

/** The last hold of each connection, which may still wait for a move. */
const held = new WeakMap<pg.PoolClient, Promise<unknown>>();

/**
 * Keeps an account where it lies until the transaction ends: its locks are there. Only a write does so; to Citus it is one,
 * although it finds no row.
 * @param timeoutMs after it a silent connection is cut; the pool's own by default
 */
export async function holdPlace(client: pg.PoolClient, schema: string, timeoutMs?: number): Promise<void> {
	if (capabilitiesOf(client).isOnlyNode) return;
	const statement = {
		text: `UPDATE "${schema}".counter SET last = last WHERE last < 0 /* hold place */`,
		query_timeout: timeoutMs,
	};
	const holding = client.query(statement);
	held.set(client, holding);
	await holding;
}

/** What makes a statement without tables run where the account lies: a table with one row. */
export function onlyWhereItLies(client: pg.PoolClient, schema: string): string {
	return capabilitiesOf(client).isOnlyNode ? '' : `, "${schema}".counter`;
}

const numberedInsert = new RegExp(`^INSERT INTO @(?:${clientTableNames.filter(isNumbered).join('|')}) \\(`);

function needsNumbers(query: WriteStep): query is Query & Required<Pick<Query, 'rows'>> {
	return 'sql' in query && query.rows !== undefined && numberedInsert.test(query.sql);
}

/** How many rows of a step get numbers. */
export function numbersNeeded(step: readonly WriteStep[]): number {
	return step.reduce((count, query) => count + (needsNumbers(query) ? query.rows.length : 0), 0);
}

/** The step with the numbers of its rows. */
export function withNumbers(step: readonly WriteStep[], first: number): WriteStep[] {
	let next = first;
	return step.map((query) => {
		if (!needsNumbers(query)) return query;
		const sql = query.sql
			.replace(numberedInsert, (start) => `${start}id, `)
			.replace('?rows', 'OVERRIDING SYSTEM VALUE ?rows');
		return { ...query, sql, rows: query.rows.map((row) => [next++, ...row]) };
	});
}

/**
 * Draws numbers for rows, in a transaction of its own, so that nobody waits for another's rows. Numbers that are not used
 * are missing, as those of a sequence.
 * @returns the first
 * @throws ConcurrentChangeError while the account moves, which goes on when the transaction has ended
 */
export async function drawNumbers(client: pg.PoolClient, schema: string, count: number): Promise<number> {
	await held.get(client);
	try {
		const { rows } = await poolOf(client).counting.queryAgain<{ last: number }>(
			`UPDATE "${schema}".counter SET last = last + $1 RETURNING last /* draw numbers */`,
			[count],
		);
		return (rows[0] as { last: number }).last - count + 1;
	} catch (error) {
		throw isLockTimeout(error) ? new ConcurrentChangeError('the account is being moved') : error;
	}
}
