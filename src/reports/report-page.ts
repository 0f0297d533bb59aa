import { escapeHtml, htmlPage } from '../format/html.ts';
import type { Transition } from './paths.ts';
import type { Survivors } from './renewals.ts';
import { columnsOf, type FlatRow, flatRows, shownCell, shownColumns, sideTables } from './report-columns.ts';
import { bars, drawingStyle, flow } from './report-drawing.ts';
import type { ReportKind } from './report-query.ts';
import { headOf } from './report-text.ts';
import type { Report } from './run-report.ts';

const style = `body{max-width:72rem}td.number,th.number{text-align:right}td.shaded{padding-left:.6rem;padding-right:.6rem}th{vertical-align:bottom}
td,th{white-space:nowrap}td.long{white-space:normal;overflow-wrap:anywhere;min-width:9rem}.wide{overflow-x:auto;margin:1rem 0}@media(max-width:40rem){td,th{font-size:13px;padding-right:.6rem}}${drawingStyle}`;

const titles: Readonly<Record<ReportKind, string>> = {
	attribution: 'Attribution',
	paths: 'Paths to subscriptions',
	ltv: 'Lifetime value',
	renewals: 'Renewals',
	coverage: 'Coverage',
	spend: 'Spend',
};

/** A report as one self-contained HTML page. */
export function reportPage(kind: ReportKind, report: Report): string {
	const rows = flatRows(report);
	const warnings = (report.warnings as string[] | undefined) ?? [];
	return htmlPage(
		`${titles[kind]} of ${report.aid}`,
		style,
		`<h1>${titles[kind]}</h1>
${headOf(report)
	.map((line) => `<p>${escapeHtml(line)}</p>`)
	.join('\n')}
${warnings.map((warning) => `<p class="warning">${escapeHtml(warning)}</p>`).join('\n')}
${picture(kind, report, rows)}
${table(rows, kind === 'ltv' ? 'ltvPence' : null)}
${sideTables(report)
	.map((side) => `<h2>${escapeHtml(side.title)}</h2>\n${table(side.rows, null)}`)
	.join('\n')}`,
	);
}

const maxBars = 140;

function picture(kind: ReportKind, report: Report, rows: readonly FlatRow[]): string {
	if (kind === 'paths') return flow(report.transitions as readonly Transition[]);
	if (kind === 'renewals') return survivorsOf(report);
	if (kind === 'ltv') return '';
	const column = kind === 'coverage' ? 'events' : 'netPence';
	const models = new Set(rows.map(({ model }) => model));
	let group: string | undefined;
	return bars(
		rows.slice(0, maxBars).map((row) => {
			const { model, ...others } = row;
			const name = Object.values(others).filter((cell) => typeof cell === 'string');
			const isFirst = name.join() !== group;
			group = name.join();
			return {
				name: [...name, ...(models.size > 1 ? [model] : [])].join(' · '),
				value: Number(row[column] ?? 0),
				shown: shownCell(column, row[column] ?? null),
				isFirst: isFirst && models.size > 1,
			};
		}),
	);
}

/** Who is left at each age, by row. */
function survivorsOf({ rows, by }: Report): string {
	const groups = rows.map((row) => {
		const survivors = row.survivors as readonly Survivors[];
		const names = [...(by as readonly string[]), 'evt', 'subscriptions'].map((name) => [name, row[name]]);
		return {
			...Object.fromEntries(names),
			...Object.fromEntries(survivors.map(({ age, share }) => [`left_${age}`, share])),
		} as FlatRow;
	});
	if (!groups.some((row) => row.left_1 !== undefined)) return '';
	return `<p>The share of subscriptions that is left after each number of periods:</p>\n${table(groups, 'left')}`;
}

/** @param shaded whose columns, numbered ones, are shaded by their values */
function table(rows: readonly FlatRow[], shaded: string | null): string {
	if (rows.length === 0) return '<p>Nothing to report.</p>';
	const columns = columnsOf(rows);
	const headings = shownColumns(columns);
	const isShaded = (column: string) => shaded !== null && column.startsWith(`${shaded}_`);
	const max = Math.max(
		Number.MIN_VALUE,
		...rows.flatMap((row) => columns.filter(isShaded).map((column) => Number(row[column] ?? 0))),
	);
	const isNumber = (column: string) => rows.every((row) => typeof row[column] !== 'string');
	const classOf = (column: string) =>
		isShaded(column) ? 'number shaded' : isNumber(column) ? 'number' : longColumns.has(column) ? 'long' : '';
	const attributes = (column: string) => (classOf(column) ? ` class="${classOf(column)}"` : '');
	const cell = (row: FlatRow, column: string) => {
		const value = row[column] ?? null;
		if (!isShaded(column)) return `<td${attributes(column)}>${escapeHtml(shownCell(column, value))}</td>`;
		if (typeof value !== 'number') return `<td${attributes(column)}></td>`;
		const depth = (0.05 + (0.5 * Math.max(0, value)) / max).toFixed(2);
		return `<td${attributes(column)} style="background:rgba(11,99,206,${depth})">${escapeHtml(shownCell(column, value))}</td>`;
	};
	const head = columns.map(
		(column, place) => `<th${attributes(column)}>${escapeHtml(headings[place] as string)}</th>`,
	);
	const body = rows.map((row) => `<tr>${columns.map((column) => cell(row, column)).join('')}</tr>`);
	return `<div class="wide"><table><tr>${head.join('')}</tr>${body.join('\n')}</table></div>`;
}

/** Whose texts may be of any length. */
const longColumns = new Set(['path', 'page', 'landing', 'campaign']);
