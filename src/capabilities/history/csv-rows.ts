import { parse } from 'csv-parse/sync';
import { counted } from '../../core/format/numbers.ts';
import type { FileRow, Header } from './file-row.ts';

interface Line {
	readonly line: number;
	readonly text: string;
}

/** Recognised by the header. Spreadsheets use semicolons where the comma separates decimals, and tabs for text; databases use bars. */
const usualSeparators = [',', ';', '\t', '|'];
const separatorNames: Readonly<Record<string, string>> = {
	',': 'a comma',
	';': 'a semicolon',
	'\t': 'a tab',
	'|': 'a bar',
};
/** Maximum lines of a row. An unclosed quote would otherwise swallow the rest of the file. */
const maxLinesOfRow = 100;
const badQuotes = 'its quotes are not valid CSV';

export interface CsvRowsOptions {
	/** By default, the one that divides the header into most of `columns`, and into most columns. */
	readonly separator?: string | undefined;
	/** Columns that there should be. */
	readonly columns: readonly string[];
	/** A column whose whole numbers are not texts. */
	readonly numbers?: string | undefined;
	/** Receives the header. */
	readonly onHeader: (header: Header, text: string) => void;
}

/** Parses CSV (RFC 4180) into rows. The first one names the columns. */
export class CsvRows {
	readonly #options: CsvRowsOptions;
	#header: Header | undefined;
	/** Lines of a row with an unclosed quote. */
	#open: Line[] = [];
	#quotes = 0;

	constructor(options: CsvRowsOptions) {
		this.#options = options;
	}

	get isInside(): boolean {
		return this.#open.length > 0;
	}

	push(line: Line, rows: FileRow[]): void {
		this.#open.push(line);
		this.#quotes += line.text.split('"').length - 1;
		if (this.#quotes % 2 === 0) this.#close(rows);
		else if (this.#open.length > maxLinesOfRow) this.#giveUp(rows);
	}

	end(rows: FileRow[]): void {
		while (this.isInside) this.#giveUp(rows);
	}

	#takeOpen(): Line[] {
		const open = this.#open;
		this.#open = [];
		this.#quotes = 0;
		return open;
	}

	#close(rows: FileRow[]): void {
		const lines = this.#takeOpen();
		const [{ line, text: first }] = lines as [Line];
		const text = lines.length === 1 ? first : lines.map((each) => each.text).join('\n');
		if (this.#header === undefined) {
			this.#begin(text);
			return;
		}
		const { names, separator } = this.#header;
		const cells = csvCells(text, separator);
		if (!cells) rows.push({ line, text, problem: badQuotes });
		else if (cells.length === names.length) rows.push({ line, text, fields: this.#fieldsOf(names, cells) });
		else rows.push({ line, text, problem: widthProblem(cells, this.#header) });
	}

	#begin(text: string): void {
		this.#header = headerOf(text, this.#options);
		this.#options.onHeader(this.#header, text);
	}

	/** Reports the first open line as bad and parses the others again. */
	#giveUp(rows: FileRow[]): void {
		const [first, ...others] = this.#takeOpen();
		if (this.#header === undefined) this.#begin((first as Line).text);
		else rows.push({ ...(first as Line), problem: badQuotes });
		for (const line of others) this.push(line, rows);
	}

	/** Empty cells are absent fields. */
	#fieldsOf(names: readonly string[], cells: readonly string[]): Record<string, unknown> {
		const fields: Record<string, unknown> = {};
		for (const [index, name] of names.entries()) {
			const cell = cells[index] as string;
			if (cell !== '')
				fields[name] = name === this.#options.numbers && /^[+-]?\d+$/.test(cell) ? Number(cell) : cell;
		}
		return fields;
	}
}

/** Too many cells come from a separator in a cell without quotes. Where the cells show it, its column is named. */
function widthProblem(cells: readonly string[], { names, separator }: Header): string {
	const problem = `it has ${counted(cells.length, 'cell')}, but the header has ${names.length}`;
	if (cells.length < names.length) return problem;
	const torn = cells.findIndex((cell, index) => index > 0 && isTorn(cells[index - 1] as string, cell)) - 1;
	const column = names[torn] ? `, as column ${names[torn]} seems to be` : '';
	return `${problem}: a cell with ${separatorNames[separator] ?? separator} in it needs quotes${column}`;
}

/** Whether a cell looks like the rest of the one before: of a sentence, or of an amount with a decimal comma. */
function isTorn(before: string, cell: string): boolean {
	return (
		(/^ \S/.test(cell) && !before.startsWith(' ')) || (/\d$/.test(before) && /^\d{2,3}\D{0,4}$/.test(cell))
	);
}

function headerOf(text: string, { separator, columns }: CsvRowsOptions): Header {
	const candidates = separator === undefined ? usualSeparators : [separator];
	const headers = candidates.map((candidate) => ({
		names: csvCells(text, candidate)?.map((name) => name.trim()) ?? [],
		separator: candidate,
	}));
	const found = ({ names }: Header) => columns.filter((column) => names.includes(column)).length;
	return headers.reduce((best, next) =>
		(found(next) - found(best) || next.names.length - best.names.length) > 0 ? next : best,
	);
}

/** The cells of one row; null where quotes are malformed. */
export function csvCells(row: string, separator = ','): string[] | null {
	// Most rows have no quotes, and starting a parser for each row would dominate the cost of an import.
	if (!row.includes('"')) return row.split(separator);
	try {
		const rows: string[][] = parse(row, { delimiter: separator, relaxColumnCount: true });
		return rows.length === 1 ? (rows[0] as string[]) : null;
	} catch {
		return null;
	}
}
