import { isUtf8 } from 'node:buffer';
import { CsvRows } from './csv-rows.ts';
import type { HistoryRecord } from './history-record.ts';

const newLine = 0x0a;
/** Bounds memory. */
const maxLineBytes = 1024 * 1024;

/**
 * Reads records from a file's chunks: NDJSON, or CSV with a header, depending on the first line. Never holds the whole
 * file in memory.
 */
export class HistoryFile {
	#rest: Buffer = Buffer.alloc(0);
	#isTooLong = false;
	#lines = 0;
	#format: 'unknown' | 'ndjson' | CsvRows = 'unknown';

	/** @returns the records that the chunk completes */
	push(chunk: Buffer): HistoryRecord[] {
		const records: HistoryRecord[] = [];
		const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
		let from = 0;
		for (let end = bytes.indexOf(newLine); end >= 0; end = bytes.indexOf(newLine, from)) {
			this.#take(bytes.subarray(from, end), records);
			from = end + 1;
		}
		this.#rest = bytes.subarray(from);
		if (this.#rest.length > maxLineBytes) {
			this.#isTooLong = true;
			this.#rest = this.#rest.subarray(0, 1);
		}
		return records;
	}

	/** @returns the last record, whose line may lack a line break */
	end(): HistoryRecord[] {
		const records: HistoryRecord[] = [];
		if (this.#rest.length > 0) this.#take(this.#rest, records);
		if (this.#format instanceof CsvRows) this.#format.end(records);
		return records;
	}

	#take(bytes: Buffer, records: HistoryRecord[]): void {
		const line = ++this.#lines;
		const problem = this.#problemOf(bytes);
		this.#isTooLong = false;
		if (problem) {
			records.push({ line, problem });
			return;
		}
		const text = bytes
			.toString('utf8')
			.replace(/\r$/, '')
			.replace(/^\ufeff/, '');
		const isInRow = this.#format instanceof CsvRows && this.#format.isInside;
		if (text.trim() === '' && !isInRow) return;
		if (this.#format === 'unknown')
			this.#format = text.trimStart().startsWith('{') ? 'ndjson' : new CsvRows();
		if (this.#format === 'ndjson') records.push(readJson(line, text));
		else this.#format.push({ line, text }, records);
	}

	#problemOf(bytes: Buffer): string | null {
		if (this.#isTooLong || bytes.length > maxLineBytes) return 'the line must have at most 1 MiB';
		return isUtf8(bytes) ? null : 'the line must be UTF-8';
	}
}

function readJson(line: number, text: string): HistoryRecord {
	try {
		return { line, fields: JSON.parse(text) };
	} catch {
		// The parser's message would quote the line.
		return { line, problem: 'the line must be JSON' };
	}
}
