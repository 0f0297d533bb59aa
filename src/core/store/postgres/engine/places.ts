import type pg from 'pg';
import { ConcurrentChangeError } from '../../../errors.ts';
import { numberedTables } from '../../account/client-tables.ts';
import type { Query, WriteStep } from '../../steps.ts';
import { type AccountTables, isHere, leave, type NodeTables, nameIn } from './account-tables.ts';
import { isLockTimeout, isTransient, poolOf } from './postgres-connection.ts';
import { statementOn } from './prepared.ts';
import { isOnlyNode, type Queryable } from './server-capabilities.ts';

// On a cluster, any node may be asked for any account, and accounts move. What follows makes locks and numbers count for
// everybody, whichever node a server asks.

/** The last hold of each connection, which may still wait for a move. */
const held = new WeakMap<pg.PoolClient, Promise<unknown>>();

/**
 * Keeps an account where it lies until the transaction ends: its locks are there. Where Citus finds its tables, only a write
 * does so; to Citus it is one, although it finds no row. Where they are named as the node has them, the lock is taken that
 * Citus takes before each of its own writes.
 * @param timeoutMs after it a silent connection is cut; the pool's own by default
 * @throws ConcurrentChangeError where the account does not lie where it was said to
 */
export async function holdPlace(
	client: pg.PoolClient,
	{ schema, node }: AccountTables,
	timeoutMs?: number,
): Promise<void> {
	if (isOnlyNode(client)) return;
	const byCitus = {
		text: `UPDATE "${schema}".counter SET last = last WHERE last < 0 /* hold place */`,
		query_timeout: timeoutMs,
	};
	const holding = node ? holdOnNode(client, node, timeoutMs) : client.query(byCitus);
	held.set(client, holding);
	await holding;
}

/** PostgreSQL's number of `ShareLock`; a move takes an exclusive one. */
const shareLock = 5;
const lockPlace = `SELECT lock_shard_metadata(${shareLock}, ARRAY[$1::bigint]) /* hold place */`;
/** A statement of its own: it must see what a move has done while the lock was waited for. */
const isPlaceHere =
	'SELECT 1 FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid) WHERE shardid = $1 /* place here */';

async function holdOnNode(
	client: pg.PoolClient,
	node: NodeTables,
	timeoutMs: number | undefined,
): Promise<void> {
	const send = (text: string) => {
		const statement = { ...statementOn(client, text, () => text), values: [node.shard] };
		return client.query({ ...statement, ...(timeoutMs !== undefined && { query_timeout: timeoutMs }) });
	};
	try {
		const [, { rowCount }] = await Promise.all([send(lockPlace), send(isPlaceHere)]);
		if (rowCount === 0) throw new ConcurrentChangeError('the account has moved');
	} catch (error) {
		if (!(error instanceof ConcurrentChangeError) && (isTransient(error) || isLockTimeout(error)))
			throw error;
		leave(node);
		throw new ConcurrentChangeError('the account is not found on its node', { cause: error });
	}
}

/** What makes a statement without tables run where the account lies: a table with one row. */
export function onlyWhereItLies(client: pg.PoolClient, tables: AccountTables): string {
	return isHere(client, tables) ? '' : `, ${nameIn(tables, 'counter')}`;
}

/** How many numbers are left to processes that still draw from sequences when the database gets the extension. */
const leftToSequences = 1_000_000;

/** Numbers that sequences have given, or that they still give, are not drawn again. */
export async function raiseCounter(asked: Queryable, schema: string): Promise<void> {
	const newest = numberedTables.map((table) => `(SELECT max(id) FROM "${schema}".${table})`);
	await asked.query(
		`UPDATE "${schema}".counter AS counter SET last = used.last + ${leftToSequences} FROM (SELECT greatest(${newest.join(', ')}) AS last) AS used
		 WHERE counter.last < used.last /* raise numbers */`,
	);
}

const numberedInsert = new RegExp(`(?:^|\\()INSERT INTO @(?:${numberedTables.join('|')}) \\(`);

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
export async function drawNumbers(
	client: pg.PoolClient,
	tables: AccountTables,
	count: number,
): Promise<number> {
	await held.get(client);
	try {
		const { rows } = await poolOf(client).counting.queryAgain<{ last: number }>(
			`UPDATE ${nameIn(tables, 'counter')} SET last = last + $1 RETURNING last /* draw numbers */`,
			[count],
		);
		return (rows[0] as { last: number }).last - count + 1;
	} catch (error) {
		throw isLockTimeout(error) ? new ConcurrentChangeError('the account is being moved') : error;
	}
}
