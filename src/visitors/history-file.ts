import { isUtf8 } from 'node:buffer';
import { csvCells } from './csv-cells.ts';

/** One line of a file of history, or one row that goes over several. */
export interface HistoryRecord {
	/** Of the file, from 1. */
	readonly line: number;
	/** What the line says, by name. */
	readonly fields?: unknown;
	/** Why it says nothing. */
	readonly problem?: string;
}

const newLine = 0x0a;
const mostLineBytes = 1024 * 1024;
/** A quote that nothing closes would swallow the rest of the file. */
const mostLinesOfRow = 100;

/**
 * Reads records out of a file's chunks: one JSON object a line, or CSV with a heading, whichever the first line is.
 * Has the whole of no file in memory.
 */
export class HistoryFile {
	#rest: Buffer = Buffer.alloc(0);
	#lines = 0;
	#format: 'unknown' | 'ndjson' | CsvRows = 'unknown';

	/** The records that a chunk completes. */
	push(chunk: Buffer): HistoryRecord[] {
		const records: HistoryRecord[] = [];
		const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
		let from = 0;
		for (let end = bytes.indexOf(newLine); end >= 0; end = bytes.indexOf(newLine, from)) {
			this.#take(bytes.subarray(from, end), records);
			from = end + 1;
		}
		this.#rest = bytes.subarray(from);
		if (this.#rest.length > mostLineBytes) throw new Error(`Line ${this.#lines + 1} is longer than 1 MiB.`);
		return records;
	}

	/** What is left: the last line may have no end. */
	end(): HistoryRecord[] {
		const records: HistoryRecord[] = [];
		if (this.#rest.length > 0) this.#take(this.#rest, records);
		if (this.#format instanceof CsvRows) this.#format.end(records);
		return records;
	}

	#take(bytes: Buffer, records: HistoryRecord[]): void {
		const line = ++this.#lines;
		const isValid = isUtf8(bytes);
		const text = isValid
			? bytes
					.toString('utf8')
					.replace(/\r$/, '')
					.replace(/^\ufeff/, '')
			: '';
		if (isValid && text.trim() === '' && !(this.#format instanceof CsvRows && this.#format.isInside)) return;
		if (this.#format === 'unknown') {
			this.#format = text.trimStart().startsWith('{') ? 'ndjson' : new CsvRows();
		}
		if (!isValid) records.push({ line, problem: 'the line must be UTF-8' });
		else if (this.#format === 'ndjson') records.push(readJson(line, text));
		else this.#format.push({ line, text }, records);
	}
}

function readJson(line: number, text: string): HistoryRecord {
	try {
		return { line, fields: JSON.parse(text) };
	} catch {
		// The error's text would show a piece of the line.
		return { line, problem: 'the line must be JSON' };
	}
}

interface Line {
	readonly line: number;
	readonly text: string;
}

/** Rows of a CSV file as objects; the first row names the columns. */
class CsvRows {
	#names: readonly string[] | undefined;
	/** Lines of a row whose quotes are not closed yet. */
	#open: Line[] = [];
	#quotes = 0;

	get isInside(): boolean {
		return this.#open.length > 0;
	}

	push(line: Line, records: HistoryRecord[]): void {
		this.#open.push(line);
		this.#quotes += countQuotes(line.text);
		if (this.#quotes % 2 === 0) this.#close(records);
		else if (this.#open.length > mostLinesOfRow) this.#giveUp(records);
	}

	end(records: HistoryRecord[]): void {
		while (this.isInside) this.#giveUp(records);
	}

	#close(records: HistoryRecord[]): void {
		const line = (this.#open[0] as Line).line;
		const text = this.#open.map((one) => one.text).join('\n');
		this.#open = [];
		this.#quotes = 0;
		const cells = csvCells(text);
		if (!this.#names) this.#names = cells?.map((name) => name.trim()) ?? [];
		else if (cells?.length === this.#names.length) records.push({ line, fields: this.#fields(cells) });
		else if (!cells) records.push({ line, problem: 'its quotes are not as CSV has them' });
		else records.push({ line, problem: `it has ${cells.length} cells, its heading ${this.#names.length}` });
	}

	/** The first of the open lines is bad; the others may not be. */
	#giveUp(records: HistoryRecord[]): void {
		const [first, ...others] = this.#open;
		this.#open = [];
		this.#quotes = 0;
		records.push({ line: (first as Line).line, problem: 'its quotes are not as CSV has them' });
		for (const line of others) this.push(line, records);
	}

	#fields(cells: readonly string[]): Record<string, unknown> {
		const fields: Record<string, unknown> = {};
		for (const [index, name] of (this.#names ?? []).entries()) {
			const cell = cells[index] as string;
			if (cell !== '') fields[name] = name === 'rvn' && /^[+-]?\d+$/.test(cell) ? Number(cell) : cell;
		}
		return fields;
	}
}

function countQuotes(text: string): number {
	let count = 0;
	for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) count++;
	return count;
}
