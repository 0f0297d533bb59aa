import { parse } from 'csv-parse/sync';
import type { HistoryRecord } from './history-record.ts';

interface Line {
	readonly line: number;
	readonly text: string;
}

/** Maximum lines of a row. An unclosed quote would otherwise swallow the rest of the file. */
const maxLinesOfRow = 100;
const badQuotes = 'its quotes are not valid CSV';

/** Parses CSV (RFC 4180) into records. The first row names the columns. */
export class CsvRows {
	#names: readonly string[] | undefined;
	/** Lines of a row with an unclosed quote. */
	#open: Line[] = [];
	#quotes = 0;

	get isInside(): boolean {
		return this.#open.length > 0;
	}

	push(line: Line, records: HistoryRecord[]): void {
		this.#open.push(line);
		this.#quotes += line.text.split('"').length - 1;
		if (this.#quotes % 2 === 0) this.#close(records);
		else if (this.#open.length > maxLinesOfRow) this.#giveUp(records);
	}

	end(records: HistoryRecord[]): void {
		while (this.isInside) this.#giveUp(records);
	}

	#takeOpen(): Line[] {
		const open = this.#open;
		this.#open = [];
		this.#quotes = 0;
		return open;
	}

	#close(records: HistoryRecord[]): void {
		const lines = this.#takeOpen();
		const line = (lines[0] as Line).line;
		const cells = csvCells(lines.map(({ text }) => text).join('\n'));
		if (!this.#names) this.#names = cells?.map((name) => name.trim()) ?? [];
		else if (!cells) records.push({ line, problem: badQuotes });
		else if (cells.length === this.#names.length)
			records.push({ line, fields: fieldsOf(this.#names, cells) });
		else
			records.push({
				line,
				problem: `it has ${cells.length} cells, but the header has ${this.#names.length}`,
			});
	}

	/** Reports the first open line as bad and parses the others again. */
	#giveUp(records: HistoryRecord[]): void {
		const [first, ...others] = this.#takeOpen();
		records.push({ line: (first as Line).line, problem: badQuotes });
		for (const line of others) this.push(line, records);
	}
}

/** Empty cells are absent fields. */
function fieldsOf(names: readonly string[], cells: readonly string[]): Record<string, unknown> {
	const fields: Record<string, unknown> = {};
	for (const [index, name] of names.entries()) {
		const cell = cells[index] as string;
		if (cell !== '') fields[name] = name === 'rvn' && /^[+-]?\d+$/.test(cell) ? Number(cell) : cell;
	}
	return fields;
}

/** The cells of one row; null where quotes are malformed. */
export function csvCells(row: string): string[] | null {
	// Most rows have no quotes, and starting a parser for each row would dominate the cost of an import.
	if (!row.includes('"')) return row.split(',');
	try {
		const rows: string[][] = parse(row, { relaxColumnCount: true });
		return rows.length === 1 ? (rows[0] as string[]) : null;
	} catch {
		return null;
	}
}
