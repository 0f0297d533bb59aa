import { LRUCache } from 'lru-cache';
import type { Query } from './steps.ts';

export type ColumnType = 'text' | 'bigint';

/** What an engine needs to know of the values that a statement is sent with, to write its text. */
export interface Shape {
	/** Of each value, whether it is a list of one element. */
	readonly singles?: readonly boolean[];
	/** How many, and the types of their columns. */
	readonly rows?: number;
	readonly columns?: readonly ColumnType[];
}

/** How one engine writes what the SQL of a `Query` leaves open. `next` gives the place of the next parameter. */
interface Dialect {
	/** Whether the name of a schema comes before that of a table. */
	readonly hasSchemas: boolean;
	/** Where all hits of visitors are read. */
	readonly loggedHit: 'hit' | 'logged_hit';
	readonly parameter: (number: number) => string;
	readonly inList: (next: () => string, isSingle: boolean) => string;
	readonly each: (next: () => string, isSingle: boolean) => string;
	readonly rows: (next: () => string, shape: Shape) => string;
	readonly forUpdate: string;
}

/** A parameter for each value. Both engines name the columns of `VALUES` so: `column1`, `column2`, … */
function values(next: () => string, { rows = 0, columns = [] }: Shape): string {
	const row = () => `(${columns.map(next).join(', ')})`;
	return `VALUES ${Array.from({ length: rows }, row).join(', ')}`;
}

const postgres: Dialect = {
	hasSchemas: true,
	loggedHit: 'hit',
	parameter: (number) => `$${number}`,
	inList: (next) => `= ANY(${next()}::text[])`,
	each: (next) => `(SELECT key FROM unnest(${next()}::text[]) AS list (key))`,
	// An array for each column: the same text for any number of rows, so that it can be prepared.
	rows: (next, { columns = [] }) => {
		const arrays = columns.map((type) => `${next()}::${type}[]`);
		const names = columns.map((_, index) => `column${index + 1}`);
		return `SELECT * FROM unnest(${arrays.join(', ')}) AS list (${names.join(', ')})`;
	},
	forUpdate: ' FOR UPDATE',
};

export const dialects = {
	sqlite: {
		// An account has a file.
		hasSchemas: false,
		// A view of the latest hits, which it keeps apart, and of the others.
		loggedHit: 'logged_hit',
		// SQLite looks numbered parameters up in a list, which costs as much as to bind them.
		parameter: () => '?',
		// Most lists have one element, and taking a list apart costs as much as the look-up.
		inList: (next, isSingle) => (isSingle ? `= ${next()}` : `IN (SELECT value FROM json_each(${next()}))`),
		each: (next, isSingle) =>
			isSingle ? `(SELECT ${next()} AS key)` : `(SELECT value AS key FROM json_each(${next()}))`,
		rows: values,
		// There is one writer.
		forUpdate: '',
	},
	postgres,
	/** For engines that cannot write from arrays. */
	postgresWithValues: { ...postgres, rows: values },
} as const satisfies Readonly<Record<string, Dialect>>;

/** The parts of a statement's text, between which the name of a schema comes, if there is one. */
export type Parts = readonly string[];

/** What is left open in the SQL of a `Query`, see there. */
const blanks = /(@logged_hit\b|@(?=[a-z])|IN \?list|\?each|\?rows|\?| FOR UPDATE\b)/;

/** Few statements have more; what is built anew each time must not fill the memory. */
const maxTemplates = 1000;
const maxShapes = 500;

/** The SQL of queries as one engine takes it, each compiled once for each shape of its values. */
export class Texts {
	readonly #dialect: Dialect;
	readonly #templates = new LRUCache<string, { tokens: readonly string[]; parts: Map<unknown, Parts> }>({
		max: maxTemplates,
	});

	constructor(dialect: Dialect) {
		this.#dialect = dialect;
	}

	/** @param name tells the shape from others */
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
		const { hasSchemas, loggedHit, parameter, inList, each, rows, forUpdate } = this.#dialect;
		const singles = shape.singles?.values();
		let number = 0;
		const next = () => parameter(++number);
		const isSingle = () => singles?.next().value === true;
		const write = (token: string) => {
			if (token === 'IN ?list') return inList(next, isSingle());
			if (token === '?each') return each(next, isSingle());
			if (token === '?rows') return rows(next, shape);
			if (token === ' FOR UPDATE') return forUpdate;
			if (token === '@logged_hit') return loggedHit;
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
