import { csvRow } from '../format/csv.ts';
import type { CreditedAmounts } from './attribution.ts';
import { type Paths, pathText } from './paths.ts';
import type { RenewalsRow } from './renewals.ts';
import type { Report } from './run-report.ts';

export type Cell = string | number | null;
export type FlatRow = Readonly<Record<string, Cell>>;

/** A report's rows as a table: one value per cell, amounts in pence. */
export function flatRows(report: Report): FlatRow[] {
	return report.rows.flatMap((row) => {
		const { models, path, repeats, survivors, ...plain } = row as Record<string, unknown>;
		if (survivors !== undefined) return renewalRows(row as unknown as RenewalsRow, plain);
		if (models !== undefined)
			return Object.entries(models as Record<string, CreditedAmounts>).map(([model, amounts]) => {
				const { low = null, high = null, ...amount } = amounts;
				return { ...(plain as FlatRow), model, ...amount, low, high };
			});
		const cells: Record<string, Cell> = {};
		if (path !== undefined) cells.path = pathText({ path, repeats } as Parameters<typeof pathText>[0]);
		for (const [name, value] of Object.entries(plain)) {
			if (!Array.isArray(value)) cells[name] = value as Cell;
			else if (name !== 'cumulativePence')
				for (const [place, one] of value.entries())
					cells[`${name}_${name === 'ltvPence' ? place : place + 1}`] = one;
		}
		return [cells];
	});
}

/** A row for each age. */
function renewalRows(
	{ eligible, renewed, survivors }: RenewalsRow,
	{ eligible: _, renewed: __, ...group }: Readonly<Record<string, unknown>>,
): FlatRow[] {
	const ages = survivors.map(({ age, atRisk, renewed: stayed, share }, place) => ({
		...{ age, eligible: eligible[place] as number, renewed: renewed[place] as number },
		...{ atRisk, stayed, survivors: share },
	}));
	const none = { age: null, eligible: null, renewed: null, atRisk: null, stayed: null, survivors: null };
	return (ages.length > 0 ? ages : [none]).map((age) => ({ ...(group as FlatRow), ...age }));
}

const maxSideRows = 20;

/** What a report of paths tells besides its rows. */
export function sideTables(report: Report): { readonly title: string; readonly rows: readonly FlatRow[] }[] {
	if (report.transitions === undefined) return [];
	const { lengths, daysToConvert, approvalDays, transitions, pages } = report as unknown as Paths;
	const days = [
		{ days: 'to convert', ...daysToConvert },
		{ days: 'to approval', ...approvalDays },
	];
	const first = (rows: readonly object[]) => rows.slice(0, maxSideRows) as FlatRow[];
	return [
		{ title: 'Days', rows: days },
		{ title: 'Touches of paths', rows: first(lengths) },
		{ title: 'Transitions', rows: first(transitions) },
		{ title: 'Pages before conversion', rows: first(pages) },
	].filter(({ rows }) => rows.length > 0);
}

/** The columns of all rows, in order. */
export function columnsOf(rows: readonly FlatRow[]): string[] {
	return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** CSV (RFC 4180). A text that a spreadsheet would take for a formula gets a leading apostrophe. */
export function csvOf(rows: readonly FlatRow[]): string {
	const columns = columnsOf(rows);
	const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))];
	return lines.map((cells) => csvRow(cells.map(safeCell))).join('');
}

function safeCell(value: Cell): Cell {
	return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}

/** Formats a cell for people: pence as pounds, shares as percentages. */
export function shownCell(column: string, value: Cell): string {
	if (value === null) return '-';
	if (typeof value !== 'number') return value;
	if (/Pence(_\d+)?$/.test(column)) return (value / 100).toFixed(2);
	if (/^(share|refundRate|survivors|left_\d+)$/.test(column)) return `${(value * 100).toFixed(1)} %`;
	return String(value);
}

/** Formats a column's heading for people. */
export function shownColumn(column: string): string {
	const [, words = column, place] = /^(.*?)(?:_(\d+))?$/.exec(column) ?? [];
	const text = words.replace(/Pence$/, '').replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
	return place === undefined ? text : `${text} ${place}`;
}

/** The headings of columns: those of pence that would be like another say that they are pounds. */
export function shownColumns(columns: readonly string[]): string[] {
	return columns.map((column) => {
		const isAmbiguous = column.endsWith('Pence') && columns.includes(column.slice(0, -'Pence'.length));
		return isAmbiguous ? `${shownColumn(column)} £` : shownColumn(column);
	});
}
