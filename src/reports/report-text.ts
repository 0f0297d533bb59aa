import { textTable } from '../format/text-table.ts';
import {
	columnsOf,
	type FlatRow,
	flatRows,
	shownCell,
	shownColumn,
	shownColumns,
	sideTables,
} from './report-columns.ts';
import type { ReportKind } from './report-query.ts';
import type { Report } from './run-report.ts';

/** A report as a text table, with amounts in pounds. */
export function reportText(kind: ReportKind, report: Report): string {
	const rows = flatRows(report);
	const hidden = new Set(
		kind === 'attribution' && !rows.some(({ low }) => low !== null) ? ['low', 'high'] : [],
	);
	const columns = columnsOf(rows).filter((column) => !hidden.has(column));
	const lines = [
		...headOf(report),
		'',
		...(rows.length === 0 ? ['Nothing to report.'] : tableOf(rows, columns)),
	];
	for (const { title, rows: side } of sideTables(report))
		lines.push('', title, ...tableOf(side, columnsOf(side)));
	for (const warning of (report.warnings as string[] | undefined) ?? []) lines.push('', warning);
	return `${lines.join('\n')}\n`;
}

function tableOf(rows: readonly FlatRow[], columns: readonly string[]): string[] {
	return textTable(
		shownColumns(columns),
		rows.map((row) => columns.map((column) => shownCell(column, row[column] ?? null))),
		columns.map((column) => rows.every((row) => typeof row[column] !== 'string')),
	);
}

/** One or two lines that describe a report. */
export function headOf({ aid, from, to, asOf, timezone, basis, totals, ...report }: Report): string[] {
	const period = from || to ? `from ${from ?? 'the beginning'} to ${to ?? 'now'}` : 'of all time';
	const head = `${aid} ${period}, as of ${asOf}, ${timezone}${basis ? `, by ${basis === 'event' ? 'the date of each event' : "the acquisition's date"}` : ''}`;
	const filters = (['evt', 'channel', 'segment'] as const).flatMap((name) =>
		report[name] === undefined ? [] : [`${name} ${report[name]}`],
	);
	const lines = filters.length > 0 ? [head, `Only ${filters.join(', ')}`] : [head];
	if (!totals) return lines;
	const { subscriptions, ...pence } = totals as Record<string, number>;
	const amounts = Object.entries(pence).map(
		([name, value]) => `${shownColumn(name)} ${shownCell(name, value)}`,
	);
	return [...lines, `${subscriptions} subscriptions: ${amounts.join(', ')}`];
}
