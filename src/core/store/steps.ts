export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

/**
 * One SQL statement for both engines, with these placeholders: `@hit` is a table of the account; `@logged_hit` is all hits,
 * for reading those of some visitors, and `@every_hit` the same for reading by time; `?` is a value; `IN ?list` is a list; `?each` is the list as a table with the
 * column `key`; `?rows` is the rows of an INSERT, in place of `VALUES …`. A statement with an empty list or without rows
 * is not sent, because it would have no effect.
 */
export interface Query {
	readonly sql: string;
	readonly values?: readonly (Value | readonly string[])[];
	readonly rows?: readonly (readonly Value[])[];
	/** Creates background work, which must be announced after the commit. */
	readonly wakes?: true;
	/** Rows are arrays of values, see `tuplesOf`: where there are millions, they cost a third of what objects do. */
	readonly asTuples?: true;
}

/** The rows of a query with `asTuples`, the values in the order of the columns. */
export function tuplesOf<Tuple extends readonly Value[]>(rows: readonly Row[] = []): readonly Tuple[] {
	return rows as unknown as readonly Tuple[];
}

/**
 * Advisory locks. An engine with one writer needs none. `docs/decisions/0009` gives the order of all locks. Uploads share
 * the locks of their events' keys (`t:…`, `c:…`, `s:…`). A new link to a key takes its lock exclusively, so that neither misses
 * the other. So does who may be the first to store a visitor with a derived `vid` (`v:…`). Imports of history are serialised. `alone` tries to take locks exclusively
 * without waiting: its row tells whether it got all of them. An engine with one writer gives no row.
 */
export type Lock =
	| { readonly lock: 'import' | 'fold' }
	| { readonly lock: 'alone'; readonly keys: readonly string[] }
	| { readonly lock: 'shared' | 'exclusive'; readonly keys: readonly string[] | 'all' };

/**
 * For an engine that stores recent hits separately, see `sqlite/recent-hits.ts`: moves those of these visitors, or the
 * oldest of all, to where statements on `@hit` find them. Returns a row for each of the oldest.
 */
export interface Settle {
	readonly settle: readonly string[] | { readonly beforeMs: number; readonly max: number };
}

/**
 * A query in pages, for many rows. An engine that is a round trip away reads the next page while one is taken. Its result
 * is empty.
 */
export interface Stream {
	/** The query of the next page; undefined at the end. @param before the page before it; undefined at first */
	readonly next: (before: readonly Row[] | undefined) => Query | undefined;
	readonly take: (rows: readonly Row[]) => void;
}

/** A statement that only reads. */
export interface Select extends Query {
	readonly sql: `SELECT ${string}`;
	readonly wakes?: never;
}

/** What a transaction that only reads may ask for. */
export type ReadStep = Select | Stream;
export type WriteStep = Query | Lock | Settle | Stream;

/**
 * A transaction in an account's database, step by step. It yields batches of statements that do not depend on each
 * other's rows, and receives the rows of each. So the same logic runs on an engine that answers synchronously and on one
 * that is a round trip away. Only `ask` and its like take the rows, so that nobody counts the places in a batch.
 */
type Transaction<Step, Outcome> = Generator<readonly Step[], Outcome, readonly (readonly Row[])[]>;

/** A transaction that only reads. It sees one state of the account. */
export type Reading<Outcome> = Transaction<ReadStep, Outcome>;
/** A transaction that may write. Everything that reads can be part of one. */
export type Steps<Outcome> = Transaction<WriteStep, Outcome>;

/** A reading, or a statement that is one by itself. */
export interface AnyReading<Outcome> {
	[Symbol.iterator](): Reading<Outcome>;
}

/** Steps, or a statement that is all of them by itself. */
export interface AnySteps<Outcome> {
	[Symbol.iterator](): Steps<Outcome>;
}

/** A statement that can be asked by itself: `yield*` gives its rows. Whoever writes it knows what they have. */
export type Askable<Step, Found = Row> = Step & { [Symbol.iterator](): Transaction<Step, readonly Found[]> };

/** SQL that is written into a statement as it is, with the values of its placeholders. */
export class Raw {
	readonly text: string | number;
	readonly values: readonly Value[];

	constructor(text: string | number, values: readonly Value[]) {
		this.text = text;
		this.values = values;
	}
}

/** Writes SQL, or a number that is the same in each call, into `sql` or `select`. Never for what a client has sent. */
export function raw(text: string | number, ...values: readonly Value[]): Raw {
	return new Raw(text, values);
}

/** Values by column. The names of columns are those of a table, never what a client has sent. */
export type ColumnValues = Readonly<Record<string, Value | undefined>>;

function given(columns: ColumnValues): [string, Value][] {
	return Object.entries(columns).filter((column): column is [string, Value] => column[1] !== undefined);
}

/** The condition that a row has these values. Null is one; a column that is undefined may have any. */
export function having(columns: ColumnValues): Raw {
	const conditions = given(columns).map(([name, value]) => `${name} ${value === null ? 'IS NULL' : '= ?'}`);
	const values = given(columns).flatMap(([, value]) => value ?? []);
	return raw(conditions.join(' AND ') || 'TRUE', ...values);
}

/** What follows `SET` in an UPDATE. Columns that are undefined stay as they are. */
export function changing(columns: ColumnValues): Raw {
	const changes = given(columns).map(([name]) => `${name} = ?`);
	return raw(changes.join(', '), ...given(columns).map(([, value]) => value));
}

/** What follows the table in an INSERT of one row. Unlike those of `values`, numbers may have fractions. */
export function inserting(columns: ColumnValues): Raw {
	const names = given(columns).map(([name]) => name);
	const places = names.map(() => '?').join(', ');
	return raw(`(${names.join(', ')}) VALUES (${places})`, ...given(columns).map(([, value]) => value));
}

/** The rows of a statement, see `values`. */
class Rows {
	readonly rows: NonNullable<Query['rows']>;

	constructor(rows: Rows['rows']) {
		this.rows = rows;
	}
}

/** The rows of an INSERT, or in parentheses a table with the columns `column1`, `column2`, …: after all other values. */
export function values(rows: Rows['rows']): Rows {
	return new Rows(rows);
}

type Filling = Value | readonly string[] | Raw | Rows;

/**
 * A statement with its values in their places. An array is a list: after `IN` what a column may be, elsewhere a table with
 * the column `key`.
 */
export function sql<Found = Row>(
	texts: TemplateStringsArray,
	...fillings: readonly Filling[]
): Askable<Query, Found> {
	return new Statement('', texts, fillings) as unknown as Askable<Query, Found>;
}

/** A statement that only reads, with its values in their places. `SELECT` is put in front. */
export function select<Found = Row>(
	texts: TemplateStringsArray,
	...fillings: readonly Filling[]
): Askable<Select, Found> {
	return new Statement('SELECT ', texts, fillings) as unknown as Askable<Select, Found>;
}

/**
 * The latest text of each statement, with what was `raw` in it. Engines find what they have compiled by the text, and to find one that
 * has just been put together costs more than some look-ups in the database.
 */
const knownTexts = new WeakMap<TemplateStringsArray, { raws: readonly Raw['text'][]; sql: string }>();

class Statement implements Query {
	readonly sql: string;
	readonly values: NonNullable<Query['values']>;
	readonly rows?: NonNullable<Query['rows']>;

	constructor(verb: string, texts: TemplateStringsArray, fillings: readonly Filling[]) {
		const values: (Value | readonly string[])[] = [];
		const raws: Raw['text'][] = [];
		for (const filling of fillings) {
			if (filling instanceof Raw) {
				raws.push(filling.text);
				values.push(...filling.values);
			} else if (filling instanceof Rows) this.rows = filling.rows;
			else values.push(filling);
		}
		this.values = values;
		let known = knownTexts.get(texts);
		if (!known?.raws.every((text, index) => text === raws[index])) {
			known = { raws, sql: textOf(verb, texts, fillings) };
			knownTexts.set(texts, known);
		}
		this.sql = known.sql;
	}

	*[Symbol.iterator](): Transaction<this, readonly Row[]> {
		const [rows = []] = yield [this];
		return rows;
	}
}

function textOf(verb: string, texts: TemplateStringsArray, fillings: readonly Filling[]): string {
	let text = `${verb}${texts[0]}`;
	for (const [index, filling] of fillings.entries()) {
		if (filling instanceof Raw) text += filling.text;
		else if (filling instanceof Rows) text += '?rows';
		else if (!Array.isArray(filling)) text += '?';
		else text += text.endsWith('IN ') ? '?list' : '?each';
		text += texts[index + 1];
	}
	return text;
}

type RowsOf<Batch> = {
	readonly [Name in keyof Batch]: Batch[Name] extends Askable<unknown, infer Found>
		? readonly Found[]
		: readonly Row[];
};

/** Asks for a batch of statements that do not depend on each other's rows, by name. @returns the rows of each */
export function ask<Batch extends Readonly<Record<string, ReadStep>>>(batch: Batch): Reading<RowsOf<Batch>>;
export function ask<Batch extends Readonly<Record<string, WriteStep>>>(batch: Batch): Steps<RowsOf<Batch>>;
export function* ask(batch: Readonly<Record<string, WriteStep>>): Steps<RowsOf<typeof batch>> {
	const rows = yield Object.values(batch);
	const found: Record<string, readonly Row[]> = {};
	let index = 0;
	for (const name in batch) found[name] = rows[index++] ?? [];
	return found;
}

/** Asks for some statements of one kind. @returns the rows of all, in their order */
export function rowsOf(queries: readonly ReadStep[]): Reading<readonly Row[]>;
export function rowsOf(queries: readonly WriteStep[]): Steps<readonly Row[]>;
export function* rowsOf(queries: readonly WriteStep[]): Steps<readonly Row[]> {
	return (yield queries).flat();
}

/** Whether the statement would have no effect. */
export function isEmpty(query: Query): boolean {
	return (
		query.rows?.length === 0 ||
		(query.values?.some((value) => Array.isArray(value) && value.length === 0) ?? false)
	);
}
