import type pg from 'pg';
import { type ColumnType, dialects, SqlTexts } from '../../dialects.ts';
import {
	isEmpty,
	type Lock,
	type Row,
	type Steps,
	type Stream,
	type Value,
	type WriteStep,
} from '../../steps.ts';
import { lockKeys, shareKeys } from '../queue/key-locks.ts';
import { type AccountTables, isHere, sqlIn } from './account-tables.ts';
import { numberArray, textArray } from './arrays.ts';
import { drawNumbers, holdPlace, numbersNeeded, onlyWhereItLies, withNumbers } from './places.ts';
import { commitTransaction, pipeline } from './postgres-connection.ts';
import { statementOn } from './prepared.ts';
import { isOnlyNode } from './server-capabilities.ts';

/** Lets one import at a time run in an account. The number is the ASCII of "impo". */
const importLock = 0x696d706f;
/** Lets one process at a time fold in an account. The number is the ASCII of "fold". */
const foldLock = 0x666f6c64;
/** PostgreSQL takes at most 65,535 parameters in one statement. */
const maxParameters = 65_535;

/** Begins a transaction that sees one state of an account. */
export const beginReading = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/**
 * Runs a transaction's steps on a connection that has begun it. The statements of a step share a round trip.
 * @param timeoutMs after it a silent connection is cut; the pool's own by default
 */
export async function runSteps<Outcome>(
	client: pg.PoolClient,
	tables: AccountTables,
	steps: Steps<Outcome>,
	timeoutMs?: number,
	step = steps.next(),
): Promise<Outcome> {
	while (!step.done) step = steps.next(await runStep(client, tables, step.value, timeoutMs));
	return step.value;
}

/** @param taken locks that the transaction has already */
function runStep(
	client: pg.PoolClient,
	tables: AccountTables,
	step: readonly WriteStep[],
	timeoutMs: number | undefined,
	taken: readonly WriteStep[] = [],
): Promise<(readonly Row[])[]> {
	const run = async (query: WriteStep) =>
		taken.includes(query) ? [] : runQuery(client, tables, query, timeoutMs);
	const count = isOnlyNode(client) ? 0 : numbersNeeded(step);
	return count > 0 ? runNumbered(client, tables, step, count, run) : pipeline(client, () => step.map(run));
}

/** Runs a step whose rows need numbers, which are drawn under its locks: so they rise in the order of the locks. */
async function runNumbered(
	client: pg.PoolClient,
	tables: AccountTables,
	step: readonly WriteStep[],
	count: number,
	run: (query: WriteStep) => Promise<readonly Row[]>,
): Promise<(readonly Row[])[]> {
	const locks = step.filter((query) => 'lock' in query);
	const locked = new Map<WriteStep, readonly Row[]>();
	const answers = await pipeline(client, () => locks.map(run));
	for (const [index, query] of locks.entries()) locked.set(query, answers[index] ?? []);
	const first = await drawNumbers(client, tables, count);
	const queries = withNumbers(step, first);
	return pipeline(client, () =>
		queries.map((query) => {
			const rows = locked.get(query);
			return rows ? Promise.resolve(rows) : run(query);
		}),
	);
}

/** What stores events in the tables of an account, and what follows from that. */
export interface StorageTask<Stored, Outcome> {
	readonly tables: AccountTables;
	readonly insert: Steps<Stored>;
	readonly follow: (stored: Stored) => Steps<Outcome>;
}

/**
 * Begins a transaction and stores events of one or several accounts. Their steps share round trips, of which the first is that of
 * BEGIN. What follows is done account by account. So all transactions lock in the same order: keys, events, then visitors.
 */
export async function storeTogether<Stored, Outcome>(
	client: pg.PoolClient,
	begin: () => Promise<unknown>,
	all: readonly StorageTask<Stored, Outcome>[],
	timeoutMs?: number,
): Promise<Outcome[]> {
	const running = all.map(({ tables, insert }) => ({ tables, insert, step: insert.next() }));
	let before = () => [begin(), ...all.map(({ tables }) => holdPlace(client, tables, timeoutMs))];
	for (;;) {
		const live = running.filter(({ step }) => !step.done);
		const steps = live.map(({ step }) => step.value as readonly WriteStep[]);
		const locks = isOnlyNode(client) ? steps.map((step) => step.filter(isSharing)) : [];
		const [, ...rows] = await pipeline(client, () => [
			Promise.all([
				...before(),
				shareKeys(
					client,
					locks.flatMap((some, index) =>
						some.map(({ keys }) => ({ schema: live[index]?.tables.schema as string, keys })),
					),
				),
			]),
			...live.map(({ tables }, index) =>
				runStep(client, tables, steps[index] as readonly WriteStep[], timeoutMs, locks[index]),
			),
		]);
		for (const [index, one] of live.entries()) one.step = one.insert.next(rows[index] as (readonly Row[])[]);
		before = () => [];
		if (running.every(({ step }) => step.done)) break;
	}
	const outcomes: Outcome[] = [];
	for (const [index, { tables, follow }] of all.entries())
		outcomes.push(await runSteps(client, tables, follow(running[index]?.step.value as Stored), timeoutMs));
	return outcomes;
}

function isSharing(one: WriteStep): one is Extract<Lock, { lock: 'shared' | 'alone' }> {
	return 'lock' in one && one.lock === 'shared';
}

interface BegunSteps<Outcome> {
	readonly begin: string;
	readonly steps: Steps<Outcome>;
}

/** Begins a transaction, runs its steps, and commits it. */
export async function runTransaction<Outcome>(
	client: pg.PoolClient,
	tables: AccountTables,
	transaction: BegunSteps<Outcome>,
): Promise<Outcome> {
	const outcome = await beginSteps(client, tables, transaction);
	await commitTransaction(client);
	return outcome;
}

/**
 * Begins a transaction and runs its steps. Locks and reads that come first share the round trip of BEGIN. Writes do not: had BEGIN
 * failed, each would be a transaction of its own.
 */
export async function beginSteps<Outcome>(
	client: pg.PoolClient,
	tables: AccountTables,
	{ begin, steps }: BegunSteps<Outcome>,
): Promise<Outcome> {
	const writes = (one: WriteStep) => 'sql' in one && !one.sql.startsWith('SELECT');
	const hold = () => (begin === beginReading ? Promise.resolve() : holdPlace(client, tables));
	const joined = withLocksJoined(steps);
	let step = joined.next();
	if (step.done || step.value.some(writes)) {
		await client.query(begin);
		await hold();
	} else {
		const first = step.value;
		const [, , rows] = await pipeline(client, () => [
			client.query(begin),
			hold(),
			runStep(client, tables, first, undefined),
		]);
		step = joined.next(rows);
	}
	return runSteps(client, tables, joined, undefined, step);
}

/**
 * Steps whose locks share the round trip of what follows: nothing depends on their rows, and a server runs one
 * statement after the other.
 */
function* withLocksJoined<Outcome>(steps: Steps<Outcome>): Steps<Outcome> {
	const hasNoRows = (one: WriteStep) =>
		'lock' in one ? one.lock !== 'alone' : 'settle' in one || ('sql' in one && isEmpty(one));
	let locks: readonly WriteStep[] = [];
	let step = steps.next();
	while (!step.done) {
		if (step.value.every(hasNoRows)) {
			locks = [...locks, ...step.value];
			step = steps.next(step.value.map(() => []));
		} else {
			const rows = yield [...locks, ...step.value];
			step = steps.next(rows.slice(locks.length));
			locks = [];
		}
	}
	if (locks.length > 0) yield locks;
	return step.value;
}

/** Connections whose transactions have left work to the background. */
const withBackgroundWork = new WeakSet<pg.PoolClient>();

/** Whether a connection's transaction has left work to the background. To be asked after its COMMIT. */
export function hasBackgroundWork(client: pg.PoolClient): boolean {
	return withBackgroundWork.delete(client);
}

export async function runQuery(
	client: pg.PoolClient,
	tables: AccountTables,
	query: WriteStep,
	timeoutMs?: number,
): Promise<readonly Row[]> {
	if ('take' in query) return runStream(client, tables, query);
	if ('settle' in query) return [];
	if ('lock' in query) return lock(client, tables, query);
	if (isEmpty(query)) return [];
	if (query.wakes) withBackgroundWork.add(client);
	const { sql, values = [], rows, asTuples } = query;
	const parameters = values.map((value) => (isList(value) ? textArray(value) : value));
	if (!rows) return send(client, { tables, sql, parameters, timeoutMs, asTuples });
	const columns = typesOf(rows);
	if (isHere(client, tables)) {
		const arrays = columns.map((type, column) => arrayOf(type, rows, column));
		return send(client, {
			tables,
			sql,
			columns,
			parameters: [...parameters, ...arrays],
			timeoutMs,
			asTuples,
		});
	}
	const rowsPerInsert = Math.floor((maxParameters - parameters.length) / columns.length);
	const results: Row[] = [];
	for (let from = 0; from < rows.length; from += rowsPerInsert) {
		const some = rows.slice(from, from + rowsPerInsert);
		const all = [...parameters, ...some.flat()];
		results.push(
			...(await send(client, {
				tables,
				sql,
				columns,
				rows: some.length,
				parameters: all,
				timeoutMs,
				asTuples,
			})),
		);
	}
	return results;
}

async function runStream(
	client: pg.PoolClient,
	tables: AccountTables,
	{ next, take }: Stream,
): Promise<readonly Row[]> {
	const send = (before?: readonly Row[]) => {
		const query = next(before);
		const sent = query && runQuery(client, tables, query);
		// It fails while a page is taken, if at all. It is awaited afterwards.
		sent?.catch(() => {});
		return sent;
	};
	for (let coming = send(); coming; ) {
		const rows = await coming;
		coming = send(rows);
		take(rows);
	}
	return [];
}

interface Statement {
	readonly tables: AccountTables;
	readonly sql: string;
	readonly columns?: readonly ColumnType[];
	/** The number of rows whose values are parameters. */
	readonly rows?: number;
	readonly parameters: unknown[];
	readonly timeoutMs: number | undefined;
	readonly asTuples?: true | undefined;
}

const arrayTexts = new SqlTexts(dialects.postgres);
const valueTexts = new SqlTexts(dialects.postgresWithValues);

async function send(client: pg.PoolClient, statement: Statement): Promise<readonly Row[]> {
	const { tables, sql, columns = [], rows, parameters, timeoutMs } = statement;
	const shape = `${columns.join()} ${rows ?? ''}`;
	const texts = rows === undefined ? arrayTexts : valueTexts;
	const text = () =>
		sqlIn(
			tables,
			texts.of(sql, shape, () => ({ columns, ...(rows && { rows }) })),
		);
	// How many rows there are differs from one statement to the next.
	const prepared = rows
		? { text: text() }
		: statementOn(client, `${tables.node?.shard ?? ''} ${tables.schema} ${shape} ${sql}`, text);
	const config = {
		...prepared,
		values: parameters,
		query_timeout: timeoutMs,
		...(statement.asTuples && { rowMode: 'array' }),
	};
	return (await client.query<Row>(config)).rows;
}

function isList(value: Value | readonly string[]): value is readonly string[] {
	return Array.isArray(value);
}

/** Numbers are integers. A column of nulls may have any type. */
function typesOf(rows: readonly (readonly Value[])[]): ColumnType[] {
	return (rows[0] ?? []).map((_, column) => {
		const value = rows.find((row) => row[column] !== null)?.[column];
		return typeof value === 'number' ? 'bigint' : 'text';
	});
}

function arrayOf(type: ColumnType, rows: readonly (readonly Value[])[], column: number): Buffer | string {
	const values = rows.map((row) => row[column] ?? null);
	return type === 'text' ? textArray(values as (string | null)[]) : numberArray(values as (number | null)[]);
}

async function lock(client: pg.PoolClient, tables: AccountTables, lock: Lock): Promise<readonly Row[]> {
	if ('keys' in lock) return lockKeys(client, tables, lock);
	await client.query(
		`SELECT pg_advisory_xact_lock(number, hashtext($2)) FROM (VALUES ($1::int)) AS list (number)${onlyWhereItLies(client, tables)} /* lock account */`,
		[lock.lock === 'import' ? importLock : foldLock, tables.schema],
	);
	return [];
}
