import { moneyOf, type ShowMoney } from '../../core/format/money.ts';
import { counted, formatPercent, withMinus } from '../../core/format/numbers.ts';
import { csvRow } from '../format/csv.ts';
import { withoutHidden } from '../format/hidden-characters.ts';
import { displayWidth, textTable } from '../format/text-table.ts';
import type { Came } from './arrivals.ts';
import { addDays } from './calendar.ts';
import type { Totals } from './journey.ts';
import { withRateWarnings } from './rates.ts';
import type {
	Cell,
	ColumnStyle,
	ColumnStyles,
	FlatRow,
	Report,
	ReportDefinition,
	SideTable,
} from './report.ts';
import { filters } from './report-query.ts';

/** The rows of a report's table: one value per cell, amounts in pence. */
export function tableOf(definition: ReportDefinition, report: Report): readonly FlatRow[] {
	return definition.table?.(report) ?? (report.rows as readonly FlatRow[]);
}

/** The values of one row as columns of one name, numbered from 0. */
export function numbered(name: string, values: readonly Cell[]): FlatRow {
	return Object.fromEntries(values.map((value, place) => [`${name}_${place}`, value]));
}

/** Rows with some of their columns. */
export function withColumns<Row extends FlatRow>(
	rows: readonly Row[],
	names: readonly (keyof Row)[],
): FlatRow[] {
	return rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name] as Cell])));
}

/** The columns of all rows, in order. */
function columnsOf(rows: readonly FlatRow[]): string[] {
	return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** A report as CSV; see `rowsCsv`. */
export function reportCsv(definition: ReportDefinition, report: Report): string {
	const { compared } = report;
	const own = tableOf(definition, report);
	const named = (period: string, some: readonly FlatRow[]): FlatRow[] =>
		some.map((row) => ({ period, ...row }));
	const rows = compared
		? [...named('current', own), ...named('compared', tableOf(definition, compared))]
		: own;
	return rowsCsv(withRateWarnings(rows));
}

/** Rows as CSV (RFC 4180). A text that a spreadsheet would take for a formula gets a leading apostrophe. */
export function rowsCsv(rows: readonly FlatRow[]): string {
	const columns = columnsOf(rows);
	const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))];
	return lines.map((cells) => csvRow(cells.map(safeCell))).join('');
}

function safeCell(value: Cell): Cell {
	return typeof value === 'string' && /^\s*[=+\-@＝＋－＠]/u.test(value) ? `'${value}` : value;
}

/** A table for people, below lines of its own. */
export interface ShownTable {
	/** Empty where there is none. */
	readonly title: string;
	readonly lines: readonly string[];
	readonly rows: readonly FlatRow[];
	readonly columns: ColumnStyles;
	/** Whether it is of the earlier period. */
	readonly isEarlier?: boolean;
}

/** All tables for people, in order. @param isLong whether a table is shown whole, not in parts */
export function shownTables(
	definition: ReportDefinition,
	report: Report,
	isLong: boolean,
): readonly ShownTable[] {
	const shown = ({ title, rows, columns }: SideTable): ShownTable => ({
		title,
		lines: [],
		rows,
		columns: { ...definition.columns, ...columns },
	});
	const main = (of: Report): readonly SideTable[] => {
		const parts = definition.parts?.(of) ?? [];
		if (!isLong && parts.length > 0) return parts;
		// What a heading is of, such as a rate a month, is as true of the whole table.
		const columns = Object.assign({}, ...parts.map((part) => part.columns ?? {}));
		return [{ title: definition.tableTitle ?? '', rows: tableOf(definition, of), columns }];
	};
	const tables = [...main(report), ...(definition.sideTables?.(report) ?? [])].map(shown);
	const { compared } = report;
	if (!compared) return tables;
	const earlier = main(compared).map(shown);
	const lines = headOf(definition, compared);
	return [
		...tables,
		...earlier.map((table, place) => ({
			...table,
			isEarlier: true,
			...(place === 0
				? { title: 'Compared with', lines: table.title ? [...lines, `Compared: ${table.title}`] : lines }
				: { title: `Compared: ${table.title}` }),
		})),
	];
}

/** A report as text tables. */
export function reportText(definition: ReportDefinition, report: Report, isLong = false): string {
	const money = moneyOf(report.currency);
	const lines = [...headOf(definition, report), ...(report.answer ? ['', report.answer] : [])];
	for (const { title, lines: own, rows, columns } of shownTables(definition, report, isLong))
		lines.push(
			...['', ...(title ? [title] : []), ...own, ...(own.length > 0 ? [''] : [])],
			...tableLines(rows, money, columns),
		);
	if (isCut(tableOf(definition, report)))
		lines.push(
			'',
			`Names over ${maxNameLength} characters are cut in the middle; --json and --csv have them whole.`,
		);
	for (const sentence of [...(report.notes ?? []), ...(report.warnings ?? [])]) lines.push('', sentence);
	return `${lines.join('\n')}\n`;
}

/** The lines of a text table. */
export function tableLines(rows: readonly FlatRow[], money: ShowMoney, styles: ColumnStyles): string[] {
	if (rows.length === 0) return [nothing];
	const columns = shownColumns(rows, styles);
	return textTable(
		columns.map(({ heading }) => heading),
		rows.map((row) =>
			columns.map((column) => {
				const shown = shownCell(column, row[column.name] ?? null, money);
				return column.isLong ? shown : shortened(shown);
			}),
		),
		columns.map(({ isNumber }) => isNumber),
	);
}

const maxNameLength = 60;

function isCut(rows: readonly FlatRow[]): boolean {
	return rows.some((row) =>
		Object.values(row).some((cell) => typeof cell === 'string' && cell.length > maxNameLength),
	);
}

/** A name that fits beside others: at most so many columns of a terminal. Its end is kept, too, because long names often differ there. */
export function shortened(name: string, max = maxNameLength): string {
	const width = displayWidth(name);
	const fitting = Math.floor((max * name.length) / Math.max(name.length, width));
	const [begin, end] = [Math.ceil((2 * fitting) / 3) - 1, Math.floor(fitting / 3)];
	return width > max ? `${name.slice(0, begin)}…${name.slice(-end)}`.toWellFormed() : name;
}

export const nothing = 'Nothing to report.';

/** Lines that say what a report is about, and its totals. */
export function headOf({ parameters }: ReportDefinition, report: Report): string[] {
	const { aid, from, to, asOf, timezone, basis, totals } = report;
	const known = new Intl.DateTimeFormat('en-GB', {
		...({ dateStyle: 'long', timeStyle: 'short' } as const),
		timeZone: timezone,
	}).format(new Date(asOf));
	// Those of one moment have no period.
	const about = parameters.includes('from') ? `${aid}, ${periodText(from, to)}` : aid;
	const head = `${about}, as known on ${known} (${timezone})${basis ? `, by ${basis === 'event' ? 'the date of each event' : 'the date of the start'}` : ''}`;
	const chosen = filters.flatMap((name) => (report[name] === undefined ? [] : [`${name} ${report[name]}`]));
	const lines = chosen.length > 0 ? [head, `Only ${withoutHidden(chosen.join(', '))}`] : [head];
	if (!totals) return lines;
	const amounts = Object.entries(totals)
		.filter(([name]) => name.endsWith('Pence'))
		.map(([name, value]) => `${headingOf(name)} ${moneyOf(report.currency)(value)}`);
	const { trials, subscriptions, visitors, arrivals } = totals as Totals & Partial<Came>;
	const came =
		visitors === undefined
			? ''
			: `${counted(visitors, 'visitor')} came, with ${counted(arrivals ?? 0, 'arrival')}. `;
	const tried = trials > 0 ? `${counted(trials, 'trial')}, ` : '';
	return [...lines, `${came}${tried}${counted(subscriptions, 'new subscription')}: ${amounts.join(', ')}`];
}

const inWords = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** The days of a period in words. @param to the day after the last one */
export function periodText(from: string | null, to: string | null): string {
	const [first, last] = [from && new Date(from), to && new Date(addDays(to, -1))];
	if (first && last) return inWords.formatRange(first, last);
	if (first) return `from ${inWords.format(first)}`;
	return last ? `until ${inWords.format(last)}` : 'all time';
}

/** A column of a table for people. */
export interface ShownColumn extends ColumnStyle {
	readonly name: string;
	readonly heading: string;
	readonly isPence: boolean;
	readonly isNumber: boolean;
	/** Whether some of its numbers are fractions: then all have two places. */
	readonly isFraction: boolean;
}

export function shownColumns(rows: readonly FlatRow[], styles: ColumnStyles = {}): ShownColumn[] {
	const isShown = (name: string) => {
		const { isOptional, hidesZero } = styles[nameWithoutNumber(name)] ?? {};
		if (hidesZero) return rows.some((row) => row[name]);
		return !isOptional || rows.some((row) => (row[name] ?? null) !== null);
	};
	const names = columnsOf(rows).filter(isShown);
	return names.map((name) => {
		const whole = nameWithoutNumber(name);
		const isPence = whole.endsWith('Pence');
		// Without its unit, the heading may be that of another column.
		const isAmbiguous = isPence && names.includes(name.slice(0, -'Pence'.length));
		const number = name.slice(whole.length).replace('_', ' ');
		const heading = `${styles[whole]?.heading ?? headingOf(whole)}${number}`;
		return {
			...styles[whole],
			name,
			isPence,
			heading: isAmbiguous ? `${heading} amount` : heading,
			isNumber: rows.every((row) => typeof row[name] !== 'string'),
			isFraction: rows.some((row) => typeof row[name] === 'number' && !Number.isInteger(row[name])),
		};
	});
}

function nameWithoutNumber(column: string): string {
	return column.replace(/_\d+$/, '');
}

/** What the columns of programs are called where a person reads. */
const spokenNames: Readonly<Record<string, string>> = {
	evt: 'event type',
	tid: 'transaction',
	subid: 'subscription',
	cid: 'customer id',
	vid: 'visitor',
	acquisitionPence: 'first payments',
	renewalPence: 'renewal payments',
	refundPence: 'refunded',
};

function headingOf(column: string): string {
	return (
		spokenNames[column] ??
		column.replace(/Pence$/, '').replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)
	);
}

/** What the figures of a report are, by the headings of its tables instead of the names that programs read. */
export function spokenDefinition({ definition, columns = {} }: ReportDefinition): string {
	return definition
		.replaceAll(/`(\w+)`/g, (_, name: string) => `“${columns[name]?.heading ?? headingOf(name)}”`)
		.replaceAll(/`(.+?)(?:\[k\])?`/g, '“$1”');
}

/** A cell for people: pence as pounds, shares in per cent. */
export function shownCell(
	{ isPence, isShare, isFraction }: Partial<ShownColumn>,
	value: Cell,
	money: ShowMoney,
): string {
	if (value === null) return '-';
	if (typeof value !== 'number') return value;
	if (isPence) return money(value);
	if (isShare) return formatPercent(value, 1);
	return withMinus((isFraction ? fractions : numbers).format(value));
}

const numbers = new Intl.NumberFormat('en-GB');
const fractions = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
