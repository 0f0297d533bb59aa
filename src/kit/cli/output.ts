import { once } from 'node:events';
import type { Command } from 'commander';
import type { OlderSchema, OpenStore } from '../../core/store/store.ts';
import { assembled } from '../assembled.ts';
import { textTable } from '../format/text-table.ts';

/** Options of every command. */
export interface CommonOptions {
	readonly database: string;
	readonly stage?: string;
	readonly json?: boolean;
}

/** How a command begins. */
export interface Begin {
	readonly create?: boolean;
	readonly olderSchema?: OlderSchema;
}

/**
 * Opens the store for one command and closes it afterwards.
 * @param begin.create whether the command may create the data folder
 * @param begin.olderSchema what it does with databases of an older version; by default it refuses them
 */
export async function withStore<T>(
	options: { readonly database: string; readonly stage?: string | undefined },
	fn: (store: OpenStore) => Promise<T>,
	{ create = false, olderSchema = 'refuse' }: Begin = {},
): Promise<T> {
	const store = await assembled('openStore')(options.database, {
		...options,
		olderSchema,
		mustExist: !create,
	});
	try {
		return await fn(store);
	} finally {
		await store.close();
	}
}

/**
 * Repeats a command's --database and --stage for other commands that it prints. Settings from the environment apply to them
 * anyway.
 */
export function place(command: Command): string {
	return ['database', 'stage']
		.filter((name) => command.getOptionValueSource(name) === 'cli')
		.map((name) => ` --${name} '${command.getOptionValue(name)}'`)
		.join('');
}

let exitsWithoutOutput = true;

/** Exits when nothing more can be written: quietly when the reader closes the pipe, as in `caskade events … | head`. */
export function handleLostOutput(): void {
	exitsWithoutOutput = true;
	process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
		if (!exitsWithoutOutput) return;
		if (code === 'EPIPE') process.exit(0);
		process.stderr.write(`caskade: Standard output cannot be written (${code}).\n`);
		process.exit(1);
	});
	process.stderr.on('error', () => {});
}

/** Keeps a server running even if nobody reads its output any more, or its disk is full. */
export function ignoreLostOutput(): void {
	exitsWithoutOutput = false;
}

/** Prints a text, and waits where whoever reads it is slower. */
export async function write(text: string): Promise<void> {
	if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain');
}

export function printLine(line: string): void {
	process.stdout.write(`${line}\n`);
}

export function printJson(value: unknown): void {
	printLine(JSON.stringify(value, null, 2));
}

/**
 * Prints what a command has found or done: as JSON where that is asked for, else for people.
 * @param text for people: what prints it, or the line to print, or of a list the line where it is empty; by default a line for
 * each property
 */
export function print(
	{ json }: Pick<CommonOptions, 'json'>,
	result: object,
	text?: string | (() => void),
): void {
	if (json) printJson(result);
	else if (typeof text === 'function') text();
	else if (Array.isArray(result)) printTable(result, text ?? '');
	else if (text === undefined) printRecord({ ...result });
	else printLine(text);
}

type Cell = string | number | boolean | null;

/** Prints an object, one property per line. */
export function printRecord(record: Readonly<Record<string, unknown>>): void {
	const width = Math.max(...Object.keys(record).map((name) => name.length));
	for (const [name, value] of Object.entries(record)) printLine(`${name.padEnd(width)}  ${show(value)}`);
}

/** Prints objects of the same shape as a table with a header; `empty` if there are none. */
export function printTable<Row extends object>(rows: readonly Row[], empty: string): void {
	const first = rows[0];
	if (!first) {
		printLine(empty);
		return;
	}
	const columns = Object.keys(first) as (keyof Row & string)[];
	const lines = textTable(
		columns,
		rows.map((row) => columns.map((column) => show(row[column]))),
		columns.map((column) => rows.every((row) => typeof row[column] === 'number')),
	);
	for (const line of lines) printLine(line);
}

function show(value: unknown): string {
	if (value === null || value === undefined) return '-';
	if (Array.isArray(value)) return value.join(' ') || '-';
	return String(value as Cell);
}
