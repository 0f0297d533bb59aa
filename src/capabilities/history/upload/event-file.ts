import { createHash } from 'node:crypto';
import { eventLabelNames, subscriptionEventFields } from '../../../core/domain/subscription-event.ts';
import { OperatorError } from '../../../core/errors.ts';
import { describeProblems } from '../../../core/schema/problems.ts';
import { eventCheck, type SentEvent, timeProblems } from '../../../core/schema/subscription-request.ts';
import { changedIds, IdColumns } from '../changed-ids.ts';
import { fileEventProblems, wholeMinorUnits } from '../event-problems.ts';
import { currencyColumn, currencyIn, currencyInHeading, isHeadingOfMinorUnits } from '../file-currency.ts';
import type { FileRow, Header } from '../file-row.ts';
import type { InputFile } from '../input-file.ts';
import { repeatedMembers } from '../repeated-members.ts';
import { RowFile } from '../row-file.ts';
import { AmountReader, type DecimalMark, Notation } from './amounts.ts';

type Field = keyof SentEvent;

/** What a row may tell of an event. */
export const fileFields: readonly Field[] = [...subscriptionEventFields, 'at'];

/** How events are written in a file. */
export interface EventFormat {
	/** What separates cells of CSV. By default, the header decides. */
	readonly separator?: string | undefined;
	/** The columns of fields that have another name in the file. Of `at`, an empty one: events happened when they arrive. */
	readonly map: Readonly<Partial<Record<Field, string>>>;
	/** The currency that `rvn` is in, as people write amounts; undefined if it is in minor units. */
	readonly currency?: string | undefined;
	/** What decimals of `rvn` begin with. By default, the amounts tell. */
	readonly decimal?: DecimalMark | undefined;
	/** Whether ids stay that look as if a spreadsheet had changed them. */
	readonly idsAsWritten?: boolean | undefined;
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

const requiredFields: readonly Field[] = ['tid', 'subid', 'evt'];
const ids: readonly Field[] = ['tid', 'subid', 'cid'];

/** A file of events: CSV with a header, or one JSON object per line. It can be read several times. */
export class EventFile {
	readonly input: InputFile;
	readonly fields: readonly Field[];
	/** The column of each field. */
	readonly columns: readonly string[];
	readonly #format: EventFormat;
	readonly #repeatedIn: (json: string) => string[];
	readonly #isMapped: boolean;
	#header: Header | null = null;
	readonly #amounts: AmountReader | null;
	#mark: DecimalMark | undefined;
	#namedCurrency: string | undefined;
	/** Whether a row has told when its event happened. */
	#hasTime = false;
	/** The column that names the currency of each row. */
	#currencyColumn: string | undefined;

	constructor(input: InputFile, format: EventFormat) {
		this.input = input;
		this.#format = format;
		this.#isMapped = Object.keys(format.map).length > 0;
		this.fields = fileFields.filter((field) => this.#columnOf(field) !== '');
		this.columns = this.fields.map((field) => this.#columnOf(field));
		this.#repeatedIn = repeatedMembers(this.columns);
		this.#amounts = format.currency === undefined ? null : new AmountReader(format.currency);
		this.#mark = format.decimal;
	}

	/** What amounts are in, as people write them; undefined if they are in minor units. */
	get currency(): string | undefined {
		return this.#format.currency;
	}

	/** What the file says that amounts are in, in a heading or its rows. */
	get namedCurrency(): string | undefined {
		return this.#namedCurrency;
	}

	/** What their decimals begin with, once the file is inspected. */
	get decimal(): DecimalMark | undefined {
		return this.#mark;
	}

	/** Of CSV that has been read; null for JSON. */
	get header(): Header | null {
		return this.#header;
	}

	/** Reads the rows in chunks. Amounts need to be inspected before. @throws OperatorError if it is no such file */
	async *rows(onBytes: (bytes: Buffer) => void = () => {}): AsyncGenerator<EventRow[]> {
		let row = 0;
		for await (const rows of this.#fileRows(onBytes)) yield rows.map((each) => this.#toRow(each, row++));
	}

	async *#fileRows(onBytes: (bytes: Buffer) => void = () => {}): AsyncGenerator<FileRow[]> {
		const { separator, map } = this.#format;
		const file = new RowFile({
			name: this.input.name,
			separator,
			columns: [
				...new Set([...requiredFields.map((field) => this.#columnOf(field)), ...Object.values(map)]),
			].filter((column) => column !== ''),
			reads: this.columns,
			numbers: this.#amounts ? undefined : this.#columnOf('rvn'),
			advice: (missing, header) => this.#adviseOn(missing, header),
		});
		const take = (rows: FileRow[]) => {
			if (this.#header === null && file.header !== null) this.#readHeader(file.header);
			return rows;
		};
		for await (const chunk of this.input.chunks(onBytes)) yield take(file.push(chunk));
		yield take(file.end());
	}

	/** @throws OperatorError if the heading of amounts contradicts the flags */
	#readHeader(header: Header): void {
		this.#header = header;
		this.#currencyColumn = currencyColumn(header.names);
		const { currency } = this.#format;
		this.#refuseTime(header.names, '', 'column');
		const column = this.#columnOf('rvn');
		if (currency !== undefined && header.names.includes(column) && isHeadingOfMinorUnits(column))
			throw new OperatorError(
				`${this.input.name}: the column ${column} seems to be in minor units. Leave --currency or --pounds out.`,
			);
		const named = currencyInHeading(column);
		if (currency !== undefined && named !== undefined && named !== currency)
			throw new OperatorError(
				`${this.input.name}: the column ${column} seems to be in ${named}, but rvn is said to be in ${currency}.`,
			);
		this.#namedCurrency = named;
	}

	/** @throws OperatorError if one of these names seems to be a time, and no flag says what to do with it */
	#refuseTime(names: readonly string[], place: string, kind: 'column' | 'member'): void {
		if (this.#format.map.at !== undefined || names.includes('at')) return;
		const time = names.find((name) => timeHeading.test(name.toLowerCase().replaceAll(/[^a-z]/g, '')));
		if (time !== undefined)
			throw new OperatorError(
				`${this.input.name}${place}: the ${kind} ${time} seems to say when events happened. Take it with --map at=${time}, or say with --map at= that they happen when they arrive.`,
			);
	}

	/** @throws OperatorError if the amounts do not tell */
	async #decideMark(amounts: AmountReader): Promise<DecimalMark> {
		const notation = new Notation(amounts);
		const column = this.#columnOf('rvn');
		for await (const rows of this.#fileRows())
			for (const { fields, line } of rows)
				notation.add((fields as Readonly<Record<string, unknown>> | null | undefined)?.[column], line);
		return notation.decide(this.input.name, column);
	}

	/**
	 * Validates all rows.
	 * @param onBad receives each invalid row
	 * @throws OperatorError if nothing tells what amounts are, or what ids were
	 */
	async inspect({
		onBytes,
		onBad,
	}: {
		onBytes: (bytes: number) => void;
		onBad: (row: EventRow) => void;
	}): Promise<FileSummary> {
		if (this.#amounts) this.#mark ??= await this.#decideMark(this.#amounts);
		const hash = createHash('sha256');
		const idColumns = new IdColumns();
		let [rows, bad, bytes] = [0, 0, 0];
		const take = (chunk: Buffer) => {
			hash.update(chunk);
			bytes += chunk.length;
		};
		for await (const piece of this.rows(take)) {
			rows += piece.length;
			for (const row of piece) {
				if (row.event === null) {
					bad++;
					onBad(row);
				} else idColumns.addAll(row.event, ids, row.line);
			}
			onBytes(bytes);
		}
		const { at } = this.#format.map;
		if (at && rows > 0 && this.#header === null && !this.#hasTime)
			throw new OperatorError(`${this.input.name}: no line has the member ${at} that --map at=${at} names.`);
		if (!this.#format.idsAsWritten) idColumns.check(this.input.name);
		return { rows, bad, sha256: hash.digest('hex') };
	}

	#columnOf(field: Field): string {
		return this.#format.map[field] ?? field;
	}

	#toRow({ line, text, fields, problem: unreadable }: FileRow, row: number): EventRow {
		if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
			return { row, line, text, values: null, event: null, problem: unreadable ?? 'it must be an object' };
		if (this.#header === null) this.#refuseTime(Object.keys(fields), `:${line}`, 'member');
		const values = this.#isMapped ? this.#mapped(fields) : (fields as Record<string, unknown>);
		this.#hasTime ||= values.at !== undefined;
		const mark = this.#mark ?? '.';
		const event = this.#amounts ? inMinorUnits(values, this.#amounts, mark) : values;
		const changed = this.#format.idsAsWritten ? [] : changedIds(values, ids, eventLabelNames);
		const others = [
			...this.#foreignCurrency(fields),
			...(this.#header === null ? this.#repeatedIn(text) : []),
		];
		if (changed.length === 0 && others.length === 0 && eventCheck(event)) {
			others.push(...timeProblems(event, Date.now()));
			if (others.length === 0) return { row, line, text, values, event, problem: null };
		}
		const revenue =
			this.#amounts?.rule(mark) ?? `${wholeMinorUnits} (or give --pounds rvn, or --currency CODE)`;
		const problem = describeProblems([...changed, ...others, ...fileEventProblems(event, revenue)]);
		return { row, line, text, values, event: null, problem };
	}

	/** A row in another currency than the file. Without a flag, the first row that names one decides. */
	#foreignCurrency(fields: object): string[] {
		const column = this.#header === null ? 'currency' : this.#currencyColumn;
		if (column === undefined) return [];
		const named = currencyIn((fields as Readonly<Record<string, unknown>>)[column]);
		if (named === undefined) return [];
		this.#namedCurrency ??= named;
		const expected = this.#format.currency ?? this.#namedCurrency;
		return named === expected ? [] : [`${column} is ${named}, but the amounts are in ${expected}`];
	}

	#mapped(fields: object): Record<string, unknown> {
		const values: Record<string, unknown> = {};
		for (const field of this.fields) {
			const value = (fields as Readonly<Record<string, unknown>>)[this.#columnOf(field)];
			if (value !== undefined) values[field] = value;
		}
		return values;
	}

	/** Suggests columns for missing ones, by names that differ only in case and punctuation. */
	#adviseOn(missing: readonly string[], { names }: Header): string {
		const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z]/g, '');
		const flags = missing.map((column) => {
			const field = fileFields.find((each) => this.#columnOf(each) === column);
			return `--map ${field}=${names.find((name) => plain(name) === plain(column)) ?? 'COLUMN'}`;
		});
		return `Say which column it is with ${flags.join(' ')}, or what separates the columns with --separator.`;
	}
}

/** Names of columns and members that are times, as shops and payment services write, in plain letters. */
const timeHeading =
	/^(time|timestamp|date|datetime|(event|order|sale|payment|transaction|purchase|invoice)(time|date|timestamp)|(created|happened|occurred|paid|purchased|ordered|charged)(at|on|time|date|utc)?)$/;

/** What is no amount stays, and is then found to be invalid. */
function inMinorUnits(
	values: Readonly<Record<string, unknown>>,
	amounts: AmountReader,
	mark: DecimalMark,
): Readonly<Record<string, unknown>> {
	const { rvn } = values;
	if (rvn === undefined || rvn === null || rvn === '') return values;
	return { ...values, rvn: amounts.read(rvn, mark) ?? String(rvn) };
}
