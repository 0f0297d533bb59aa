import { csvRow } from '../format/csv.ts';
import type { CreditedAmounts } from './attribution.ts';
import { pathText } from './paths.ts';
import type { Report } from './run-report.ts';

export type Cell = string | number | null;
export type FlatRow = Readonly<Record<string, Cell>>;

/** A report's rows as a table: one value per cell, amounts in pence. */
export function flatRows(report: Report): FlatRow[] {
	return report.rows.flatMap((row) => {
		const { models, path, repeats, survivors: _, ...plain } = row as Record<string, unknown>;
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
	if (/^(share|refundRate)$/.test(column)) return `${(value * 100).toFixed(1)} %`;
	return String(value);
}

/** Formats a column's heading for people. */
export function shownColumn(column: string): string {
	const [, words = column, place] = /^(.*?)(?:_(\d+))?$/.exec(column) ?? [];
	const text = words.replace(/Pence$/, '').replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
	return place === undefined ? text : `${text} ${place}`;
}
