import { createHash } from 'node:crypto';
import { type SubscriptionEvent, subscriptionEventFields } from '../domain/subscription-event.ts';
import { fileEventProblems, wholePence } from '../import/event-problems.ts';
import type { FileRow, Header } from '../import/file-row.ts';
import type { InputFile } from '../import/input-file.ts';
import { RowFile } from '../import/row-file.ts';
import { describeProblems } from '../schema/problems.ts';
import { eventCheck, type SentEvent } from '../schema/subscription-request.ts';
import { penceOf } from './pounds.ts';

type Field = keyof SubscriptionEvent;

/** How events are written in a file. */
export interface EventFormat {
	/** What separates cells of CSV. By default, the header decides. */
	readonly separator?: string | undefined;
	/** The columns of fields that have another name in the file. */
	readonly map: Readonly<Partial<Record<Field, string>>>;
	/** Whether `rvn` is in pounds. */
	readonly isInPounds: boolean;
}

export interface EventRow {
	/** Index of the row in the file, from 0. */
	readonly row: number;
	readonly line: number;
	/** As it is in the file. */
	readonly text: string;
	/** The values of the row's fields, and maybe others; null if it cannot be read. */
	readonly values: Readonly<Record<string, unknown>> | null;
	readonly event: SentEvent | null;
	/** What is invalid. It does not contain the values, which may be personal data. */
	readonly problem: string | null;
}

export interface FileSummary {
	readonly rows: number;
	readonly bad: number;
	/** Hash of the content. */
	readonly sha256: string;
}

const inPounds = 'pounds with whole pence, for example 4.99 or 1,234.56';
const requiredFields: readonly Field[] = ['tid', 'subid', 'evt'];

/** A file of events: CSV with a header, or one JSON object per line. It can be read several times. */
export class EventFile {
	readonly input: InputFile;
	/** The column of each field. */
	readonly columns: readonly string[];
	readonly #format: EventFormat;
	readonly #isMapped: boolean;
	#header: Header | null = null;

	constructor(input: InputFile, format: EventFormat) {
		this.input = input;
		this.#format = format;
		this.#isMapped = Object.keys(format.map).length > 0;
		this.columns = subscriptionEventFields.map((field) => this.#columnOf(field));
	}

	/** Of CSV that has been read; null for JSON. */
	get header(): Header | null {
		return this.#header;
	}

	/** Reads the rows in chunks. @throws OperatorError if it is no such file */
	async *rows(onBytes: (bytes: Buffer) => void = () => {}): AsyncGenerator<EventRow[]> {
		const { separator, map, isInPounds } = this.#format;
		const file = new RowFile({
			name: this.input.name,
			separator,
			columns: [...new Set([...requiredFields.map((field) => this.#columnOf(field)), ...Object.values(map)])],
			numbers: isInPounds ? undefined : this.#columnOf('rvn'),
			advice: (missing, header) => this.#adviseOn(missing, header),
		});
		let row = 0;
		const toRows = (rows: readonly FileRow[]) => rows.map((each) => this.#toRow(each, row++));
		for await (const chunk of this.input.chunks(onBytes)) {
			const rows = toRows(file.push(chunk));
			this.#header = file.header;
			yield rows;
		}
		yield toRows(file.end());
		this.#header = file.header;
	}

	/** Validates all rows. @param onBad receives each invalid row */
	async inspect({
		onBytes,
		onBad,
	}: {
		onBytes: (bytes: number) => void;
		onBad: (row: EventRow) => void;
	}): Promise<FileSummary> {
		const hash = createHash('sha256');
		let [rows, bad, bytes] = [0, 0, 0];
		const take = (chunk: Buffer) => {
			hash.update(chunk);
			bytes += chunk.length;
		};
		for await (const piece of this.rows(take)) {
			rows += piece.length;
			for (const row of piece)
				if (row.event === null) {
					bad++;
					onBad(row);
				}
			onBytes(bytes);
		}
		return { rows, bad, sha256: hash.digest('hex') };
	}

	#columnOf(field: Field): string {
		return this.#format.map[field] ?? field;
	}

	#toRow({ line, text, fields, problem: unreadable }: FileRow, row: number): EventRow {
		if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
			return { row, line, text, values: null, event: null, problem: unreadable ?? 'it must be an object' };
		const values = this.#isMapped ? this.#mapped(fields) : (fields as Record<string, unknown>);
		const event = this.#format.isInPounds ? inPence(values) : values;
		if (eventCheck(event)) return { row, line, text, values, event, problem: null };
		const revenue = this.#format.isInPounds ? inPounds : `${wholePence} (or give --pounds rvn)`;
		const problem = describeProblems(fileEventProblems(event, revenue));
		return { row, line, text, values, event: null, problem };
	}

	#mapped(fields: object): Record<string, unknown> {
		const values: Record<string, unknown> = {};
		for (const [index, field] of subscriptionEventFields.entries()) {
			const value = (fields as Readonly<Record<string, unknown>>)[this.columns[index] as string];
			if (value !== undefined) values[field] = value;
		}
		return values;
	}

	/** Suggests columns for missing ones, by names that differ only in case and punctuation. */
	#adviseOn(missing: readonly string[], { names }: Header): string {
		const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z]/g, '');
		const flags = missing.map((column) => {
			const field = subscriptionEventFields.find((each) => this.#columnOf(each) === column);
			return `--map ${field}=${names.find((name) => plain(name) === plain(column)) ?? 'COLUMN'}`;
		});
		return `Say which column it is with ${flags.join(' ')}, or what separates the columns with --separator.`;
	}
}

/** What is no amount of pounds stays, and is then found to be invalid. */
function inPence(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
	const { rvn } = values;
	if (rvn === undefined || rvn === null || rvn === '') return values;
	return { ...values, rvn: penceOf(rvn) ?? String(rvn) };
}
