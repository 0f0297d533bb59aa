import { isUtf8 } from 'node:buffer';
import { OperatorError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/format/exact-json.ts';
import { listed } from '../../core/format/numbers.ts';
import { CsvRows } from './csv-rows.ts';
import type { FileRow, Header } from './file-row.ts';

const newLine = 0x0a;
/** Bounds memory. */
const maxLineBytes = 1024 * 1024;
/** What Excel reads, and others write for it: `sep=;`. */
const separatorLine = /^"?sep=([^\w"])"?$/i;
/** A file without a header begins with data. */
const maxShownHeader = 200;

export interface RowFileOptions {
	/** Of messages. */
	readonly name: string;
	/** What separates cells of CSV. By default, the header decides. */
	readonly separator?: string | undefined;
	/** Columns that CSV must have. */
	readonly columns?: readonly string[];
	/** Columns that are read, if CSV has them: none may be there twice. By default, those that it must have. */
	readonly reads?: readonly string[];
	/** A column of CSV whose whole numbers are not texts. */
	readonly numbers?: string | undefined;
	/** What to do about missing columns: a sentence. */
	readonly advice?: (missing: readonly string[], header: Header) => string;
}

/**
 * Reads rows from a file's chunks: NDJSON, or CSV with a header, depending on the first line. Never holds the whole
 * file in memory.
 */
export class RowFile {
	readonly #options: RowFileOptions;
	#rest: Buffer = Buffer.alloc(0);
	#isTooLong = false;
	#lines = 0;
	#format: 'unknown' | 'ndjson' | CsvRows = 'unknown';
	#header: Header | null = null;
	/** What the first line says, as Excel writes it. */
	#separator: string | undefined;

	constructor(options: RowFileOptions) {
		this.#options = options;
	}

	/** Of CSV, as soon as it is read. */
	get header(): Header | null {
		return this.#header;
	}

	/**
	 * @returns the rows that the chunk completes
	 * @throws OperatorError if it is no such file
	 */
	push(chunk: Buffer): FileRow[] {
		const rows: FileRow[] = [];
		const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
		let from = 0;
		for (let end = bytes.indexOf(newLine); end >= 0; end = bytes.indexOf(newLine, from)) {
			this.#take(bytes.subarray(from, end), rows);
			from = end + 1;
		}
		this.#rest = bytes.subarray(from);
		if (this.#rest.length > maxLineBytes) {
			this.#isTooLong = true;
			this.#rest = this.#rest.subarray(0, 1);
		}
		return rows;
	}

	/** @returns the last row, whose line may lack a line break */
	end(): FileRow[] {
		const rows: FileRow[] = [];
		if (this.#rest.length > 0) this.#take(this.#rest, rows);
		if (this.#format instanceof CsvRows) this.#format.end(rows);
		return rows;
	}

	#take(bytes: Buffer, rows: FileRow[]): void {
		const line = ++this.#lines;
		const isTooLong = this.#isTooLong || bytes.length > maxLineBytes;
		this.#isTooLong = false;
		if (isTooLong) {
			rows.push({ line, text: '', problem: 'the line must have at most 1 MiB' });
			return;
		}
		const isText = isUtf8(bytes);
		// Whatever is not UTF-8 is Latin-1 more often than not.
		const text = bytes
			.toString(isText ? 'utf8' : 'latin1')
			.replace(/\r$/, '')
			.replace(/^\ufeff/, '');
		if (!isText) {
			// The first line decides what the others mean.
			if (this.#format === 'unknown' && !text.startsWith('{'))
				throw new OperatorError(`${this.#options.name} is not UTF-8. Save it as CSV in UTF-8.`);
			rows.push({ line, text, problem: 'the line must be UTF-8' });
			return;
		}
		if (this.#format === 'unknown') {
			const { name } = this.#options;
			if (text.includes('\0'))
				throw new OperatorError(`${name} is UTF-16, or no text. Save it as CSV in UTF-8.`);
			if (text.includes('\r'))
				throw new OperatorError(
					`${name} has lines that end with a carriage return alone. Write line feeds, as tr '\\r' '\\n' does.`,
				);
			const [, separator] = separatorLine.exec(text) ?? [];
			if (separator !== undefined && this.#separator === undefined) {
				this.#separator = separator;
				return;
			}
		}
		const isInRow = this.#format instanceof CsvRows && this.#format.isInside;
		if (text.trim() === '' && !isInRow) return;
		if (this.#format === 'unknown') this.#format = this.#formatOf(text.trim());
		if (this.#format === 'ndjson') rows.push(readJson(line, text));
		else this.#format.push({ line, text }, rows);
	}

	#formatOf(firstLine: string): 'ndjson' | CsvRows {
		const { name, separator = this.#separator, columns = [], numbers } = this.#options;
		if (firstLine.startsWith('['))
			throw new OperatorError(
				`${name} is a JSON array. Write one JSON object per line, as jq -c '.[]' ${name} does.`,
			);
		if (firstLine === '{')
			throw new OperatorError(
				`${name} has JSON over several lines. Write one JSON object per line, as jq -c . ${name} does.`,
			);
		if (firstLine.startsWith('{')) return 'ndjson';
		const onHeader = (header: Header, text: string) => this.#check(header, text);
		return new CsvRows({ separator, columns, numbers, onHeader });
	}

	#check(header: Header, text: string): void {
		this.#header = header;
		const { name, columns = [], reads = columns, advice } = this.#options;
		const shown = text.length > maxShownHeader ? `${text.slice(0, maxShownHeader)}…` : text;
		const twice = reads.filter((column) => header.names.indexOf(column) !== header.names.lastIndexOf(column));
		if (twice.length > 0)
			throw new OperatorError(
				`${name} has several columns ${listed(twice)}; its header reads ${JSON.stringify(shown)}. Give each a name of its own, because nothing tells which of them is meant.`,
			);
		const missing = columns.filter((column) => !header.names.includes(column));
		if (missing.length === 0) return;
		throw new OperatorError(
			`${name} has no column ${listed(missing)}; its header reads ${JSON.stringify(shown)}. ${advice?.(missing, header) ?? ''}`.trim(),
		);
	}
}

function readJson(line: number, text: string): FileRow {
	try {
		return { line, text, fields: parseExactJson(text) };
	} catch {
		// The parser's message would quote the line.
		return { line, text, problem: 'the line must be JSON' };
	}
}
