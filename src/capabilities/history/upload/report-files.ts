import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { csvCell } from '../../../kit/format/csv.ts';
import { csvCells } from '../csv-rows.ts';
import type { EventFile, EventRow } from './event-file.ts';
import { assertReplaceable } from './own-file.ts';
import type { RowOutcomes } from './row-outcomes.ts';

const reportHeader = ['line', 'tid', 'outcome', 'reason', 'requestId'];
/** The columns that follow those of the file. */
const rejectedColumns = ['line', 'problem'];
const unjoinableReason = 'a key joins nobody';
const isReport = (header: string) => header === reportHeader.join();
const isRejected = (header: string) => /(^|\W)line\Wproblem$/.test(header);

/** Paths are null of files that were not written. */
export interface WrittenReports {
	readonly report: string | null;
	readonly rejected: string | null;
	/** Lines of the first conflicts, and of the first rows with a key that joins nobody. */
	readonly conflictingLines: readonly number[];
	readonly unjoinableLines: readonly number[];
}

/** What an upload leaves beside its file: the outcome of each row, and the rejected rows, to be corrected and uploaded. */
export class ReportFiles {
	readonly #report: string;
	readonly rejected: string;

	/** @throws OperatorError if they would replace what an upload did not write, or cannot be written */
	constructor(path: string) {
		this.#report = `${path}.report.csv`;
		this.rejected = `${path}.rejected.csv`;
		assertReplaceable(this.#report, isReport);
		assertReplaceable(this.rejected, isRejected);
		accessSync(dirname(path), constants.W_OK);
	}

	/**
	 * Writes the rejected rows, if there are any, and the outcome of each row, if any was sent: an earlier report stays where
	 * nothing was.
	 * @param maxLines how many lines of each kind to return
	 */
	async write(
		file: EventFile,
		outcomes: RowOutcomes,
		{ isSent, maxLines }: { isSent: boolean; maxLines: number },
	): Promise<WrittenReports> {
		await using report = isSent ? new CsvFile(this.#report, isReport) : null;
		await using rejected = outcomes.counts.rejected > 0 ? new CsvFile(this.rejected, isRejected) : null;
		const conflictingLines: number[] = [];
		const unjoinableLines: number[] = [];
		await report?.add(reportHeader);
		let source: Source | undefined;
		for await (const piece of file.rows()) {
			for (const row of piece) {
				const known = outcomes.of(row.row);
				if (!known) continue;
				const { outcome, isUnjoinable, requestId } = known;
				const reason = [known.reason, isUnjoinable ? unjoinableReason : ''].filter(Boolean).join('; ');
				await report?.add([row.line, row.values?.tid, outcome, reason, requestId]);
				if (outcome === 'conflict' && conflictingLines.length < maxLines) conflictingLines.push(row.line);
				if (isUnjoinable && unjoinableLines.length < maxLines) unjoinableLines.push(row.line);
				if (outcome !== 'rejected' || rejected === null) continue;
				if (source === undefined) {
					source = sourceOf(file);
					await rejected.add([...source.names, ...rejectedColumns], source.separator);
				}
				await rejected.add(source.cells(row, reason), source.separator);
			}
		}
		await report?.end();
		await rejected?.end();
		return {
			report: report?.path ?? null,
			rejected: rejected?.path ?? null,
			conflictingLines,
			unjoinableLines,
		};
	}
}

interface Source {
	readonly names: readonly string[];
	readonly separator: string;
	/** The cells of a rejected row, as they are in the file. */
	cells(row: EventRow, reason: string): unknown[];
}

function sourceOf(file: EventFile): Source {
	const { header, columns, fields } = file;
	if (header === null) {
		// A line of JSON that has no fields is kept whole.
		const cells = ({ values, text, line }: EventRow, reason: string) => [
			...fields.map((field) => values?.[field]),
			...[values === null ? text : '', line, reason],
		];
		return { names: [...columns, 'text'], separator: ',', cells };
	}
	const { separator } = header;
	// A file of rejected rows may be rejected again.
	const isAgain = rejectedColumns.every(
		(name, index) => header.names.at(index - rejectedColumns.length) === name,
	);
	const names = isAgain ? header.names.slice(0, -rejectedColumns.length) : header.names;
	return {
		names,
		separator,
		cells({ text, line }, reason) {
			const cells = csvCells(text, separator) ?? text.split(separator);
			const own = names.map((_, index) => cells[index]);
			// Where they are not cells of the file, they stay visible, and the row stays invalid.
			return [...own, line, reason, ...cells.slice(header.names.length)];
		},
	};
}

/** Writes a CSV file (RFC 4180). It gets its name when it is complete. */
class CsvFile {
	readonly path: string;
	readonly #isOurs: (header: string) => boolean;
	readonly #unfinished: string;
	readonly #stream;
	#pending = '';

	constructor(path: string, isOurs: (header: string) => boolean) {
		this.path = path;
		this.#isOurs = isOurs;
		this.#unfinished = `${path}.${randomUUID()}.new`;
		this.#stream = createWriteStream(this.#unfinished, { flags: 'wx', mode: 0o600 });
		// The next write reports the error.
		this.#stream.on('error', () => {});
	}

	async add(cells: readonly unknown[], separator = ','): Promise<void> {
		this.#pending += `${cells.map((cell) => cellOf(cell, separator)).join(separator)}\n`;
		if (this.#pending.length > 65_536) await this.#flush();
	}

	async #flush(): Promise<void> {
		const text = this.#pending;
		this.#pending = '';
		if (this.#stream.errored) throw this.#stream.errored;
		if (!this.#stream.write(text)) await once(this.#stream, 'drain');
	}

	async end(): Promise<void> {
		await this.#flush();
		this.#stream.end();
		await finished(this.#stream);
		assertReplaceable(this.path, this.#isOurs);
		await rename(this.#unfinished, this.path);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stream.destroy();
		await rm(this.#unfinished, { force: true });
	}
}

function cellOf(value: unknown, separator: string): string {
	const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
	return csvCell(text, separator);
}
