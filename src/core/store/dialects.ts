import { LRUCache } from 'lru-cache';
import type { Query } from './steps.ts';

export type ColumnType = 'text' | 'bigint';

/** What an engine must know about a statement's values to write its text. */
export interface Shape {
	/** For each value, whether it is a list of one element. */
	readonly singles?: readonly boolean[];
	/** The number of rows, and the types of their columns. */
	readonly rows?: number;
	readonly columns?: readonly ColumnType[];
}

/** How an engine writes the placeholders in the SQL of a `Query`. `next` gives the next parameter. */
interface Dialect {
	/** Whether tables are qualified with a schema. */
	readonly hasSchemas: boolean;
	/** The table or view of all hits of visitors. */
	readonly loggedHit: 'hit' | 'logged_hit';
	/** The table of all hits, or what puts it together. */
	readonly everyHit: string;
	readonly parameter: (number: number) => string;
	readonly inList: (next: () => string, isSingle: boolean) => string;
	readonly each: (next: () => string, isSingle: boolean) => string;
	readonly rows: (next: () => string, shape: Shape) => string;
	/** Whether rows are locked; where there is one writer, none need be. */
	readonly locksRows: boolean;
}

/** A parameter for each value. Both engines name the columns of `VALUES` `column1`, `column2`, … */
function values(next: () => string, { rows = 0, columns = [] }: Shape): string {
	const row = () => `(${columns.map(next).join(', ')})`;
	return `VALUES ${Array.from({ length: rows }, row).join(', ')}`;
}

/** The first row says for all of what types they are. */
function typedValues(next: () => string, shape: Shape): string {
	const types = shape.columns?.values();
	return values(() => {
		const type = types?.next().value;
		return type ? `${next()}::${type}` : next();
	}, shape);
}

const postgres: Dialect = {
	hasSchemas: true,
	loggedHit: 'hit',
	everyHit: 'hit',
	parameter: (number) => `$${number}`,
	inList: (next) => `= ANY(${next()}::text[])`,
	each: (next) => `(SELECT key FROM unnest(${next()}::text[]) AS list (key))`,
	// An array for each column: the text is the same for any number of rows, so it can be prepared. In FROM, a server would first put
	// all rows together, as a table of its own.
	rows: (next, { columns = [] }) =>
		`SELECT ${columns.map((type, index) => `unnest(${next()}::${type}[]) AS column${index + 1}`).join(', ')}`,
	locksRows: true,
};

export const dialects = {
	sqlite: {
		// Each account has a file of its own.
		hasSchemas: false,
		// A view of recent hits, which SQLite stores separately, and all others.
		loggedHit: 'logged_hit',
		// Both tables have an index by time, which the view cannot use.
		everyHit:
			'(SELECT vid, sid, at, body FROM hit UNION ALL SELECT vid, sid, at, body FROM recent_hit) AS every_hit',
		// SQLite looks numbered parameters up in a list, which costs as much as binding them.
		parameter: () => '?',
		// Most lists have one element, and expanding a list costs as much as the look-up.
		inList: (next, isSingle) => (isSingle ? `= ${next()}` : `IN (SELECT value FROM json_each(${next()}))`),
		each: (next, isSingle) =>
			isSingle ? `(SELECT ${next()} AS key)` : `(SELECT value AS key FROM json_each(${next()}))`,
		rows: values,
		// There is one writer.
		locksRows: false,
	},
	postgres,
	/** For servers that cannot insert from arrays. Elsewhere than in an INSERT, nothing else would say of what type they are. */
	postgresWithValues: { ...postgres, rows: typedValues },
} as const satisfies Readonly<Record<string, Dialect>>;

/** The parts of a statement's text; the schema's name goes between them. */
export type Parts = readonly string[];

/** The placeholders in the SQL of a `Query`. */
const blanks =
	/(@logged_hit\b|@every_hit\b|@(?=[a-z])|IN \?list|\?each|\?rows|\?| FOR UPDATE(?: SKIP LOCKED)?\b)/;

/** Enough for all fixed statements. Texts that are built for each call must not fill the memory. */
const maxTemplates = 1000;
const maxShapes = 500;

/** The SQL of queries for one engine, compiled once for each shape of the values. */
export class SqlTexts {
	readonly #dialect: Dialect;
	readonly #templates = new LRUCache<string, { tokens: readonly string[]; parts: Map<unknown, Parts> }>({
		max: maxTemplates,
	});

	constructor(dialect: Dialect) {
		this.#dialect = dialect;
	}

	/** @param name identifies the shape */
	of(sql: Query['sql'], name: string | number, shape: () => Shape): Parts {
		let template = this.#templates.get(sql);
		if (!template) {
			template = { tokens: sql.split(blanks), parts: new Map() };
			this.#templates.set(sql, template);
		}
		let parts = template.parts.get(name);
		if (!parts) {
			if (template.parts.size === maxShapes) template.parts.clear();
			parts = this.#write(template.tokens, shape());
			template.parts.set(name, parts);
		}
		return parts;
	}

	#write(tokens: readonly string[], shape: Shape): Parts {
		const { hasSchemas, loggedHit, everyHit, parameter, inList, each, rows, locksRows } = this.#dialect;
		const singles = shape.singles?.values();
		let number = 0;
		const next = () => parameter(++number);
		const isSingle = () => singles?.next().value === true;
		const write = (token: string) => {
			if (token === 'IN ?list') return inList(next, isSingle());
			if (token === '?each') return each(next, isSingle());
			if (token === '?rows') return rows(next, shape);
			if (token.startsWith(' FOR UPDATE')) return locksRows ? token : '';
			if (token === '@logged_hit') return loggedHit;
			if (token === '@every_hit') return everyHit;
			if (token === '@') return '';
			if (token !== '?') return token;
			singles?.next();
			return next();
		};
		const parts = [''];
		for (const token of tokens) {
			if (hasSchemas && token.startsWith('@')) parts.push('');
			parts[parts.length - 1] += write(token);
		}
		return parts;
	}
}
