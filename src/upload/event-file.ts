import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { OperatorError } from '../errors.ts';
import { HistoryFile } from '../import/history-file.ts';
import type { HistoryRecord } from '../import/history-record.ts';
import { describeProblems } from '../schema/problems.ts';
import { eventCheck, eventProblems, type SentEvent } from '../schema/subscription-request.ts';

const chunkBytes = 256 * 1024;

/** One row of a file of events. */
export interface EventRow {
	/** Index of the row in the file, from 0. */
	readonly row: number;
	/** Line number, from 1. */
	readonly line: number;
	/** The row's values by name; null if the row cannot be read. */
	readonly fields: Readonly<Record<string, unknown>> | null;
	/** Null if the row is invalid. */
	readonly event: SentEvent | null;
	/** What is invalid. It does not contain the values, which may be personal data. */
	readonly problem: string | null;
}

/** Reads a file of events, CSV with a heading or one JSON object per line, in chunks. @param onBytes receives each chunk */
export async function* readEvents(
	path: string,
	onBytes: (bytes: Buffer) => void = () => {},
): AsyncGenerator<EventRow[]> {
	const file = new HistoryFile();
	let row = 0;
	const rowsOf = (records: readonly HistoryRecord[]) => records.map((record) => toRow(record, row++));
	try {
		for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) {
			onBytes(chunk);
			yield rowsOf(file.push(chunk));
		}
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === 'ENOENT' || code === 'EISDIR') throw new OperatorError(`There is no file ${path}.`);
		throw error;
	}
	yield rowsOf(file.end());
}

function toRow({ line, fields: read, problem: unreadable }: HistoryRecord, row: number): EventRow {
	const isObject = typeof read === 'object' && read !== null && !Array.isArray(read);
	const fields = isObject ? (read as Readonly<Record<string, unknown>>) : null;
	if (eventCheck.Check(fields)) return { row, line, fields, event: fields, problem: null };
	const problem =
		unreadable ?? (fields ? describeProblems(eventProblems(fields, '')) : 'it must be an object');
	return { row, line, fields, event: null, problem };
}

export interface FileSummary {
	readonly rows: number;
	readonly bad: number;
	readonly bytes: number;
	/** Hash of the content. */
	readonly sha256: string;
}

/** Validates all rows. @param onBad receives each invalid row */
export async function inspect(
	path: string,
	{ onBytes, onBad }: { onBytes: (bytes: number) => void; onBad: (row: EventRow) => void },
): Promise<FileSummary> {
	const hash = createHash('sha256');
	let [rows, bad, bytes] = [0, 0, 0];
	const take = (chunk: Buffer) => {
		hash.update(chunk);
		bytes += chunk.length;
	};
	for await (const piece of readEvents(path, take)) {
		rows += piece.length;
		for (const row of piece)
			if (row.event === null) {
				bad++;
				onBad(row);
			}
		onBytes(bytes);
	}
	return { rows, bad, bytes, sha256: hash.digest('hex') };
}
